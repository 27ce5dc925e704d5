-- run/record/call.lua: an attempt of a call is about to be sent, or a wait starts.

local arrivals = require("skillrt.run.books.arrivals")
local questions = require("skillrt.run.books.questions")
local repeats = require("skillrt.mode.repeats")
local consumption = require("skillrt.run.books.consumption")
local sandbox = require("skillrt.skill.sandbox")

return {
  doc = "an attempt is about to be sent; of a wait: until when, for whom or what",
  of_step = true,
  fields = [[
    step integer
    c string its place in the step
    a integer? the attempt, from the second on
    kind string http, command, session, host, local, sleep, ask, wait, run, child
    to string? where it goes, as it may be shown
    key string? the same for all its attempts
    digest string? of what was declared
    idem boolean? it may be sent again
    due integer? of a sleep or wait: until when
    q integer? of a question: its number
    question table?
    nonce string?
    w integer? of a wait for an event: its number
    event string? ... and the event's name
    pure boolean? its result follows from others, and is made anew where those change
    label string?
    model string? of an agent
    converses boolean? of an agent: it can be told more behind its reply
    phase string?
    sub string? of a sub-run: its scope
    session string? its name
    epoch integer? for which of its programs
    said integer? the message's place among all
    sandbox string? of a program: its level, and a digest of what it is granted; or that none works here
  ]],

  apply = function(_, record, whole)
    local step = whole.steps[record.step]
    step:called(record)
    if record.epoch then
      arrivals.talked(whole, step, record)
    end
    if repeats.ACTS[record.kind] and not record.pure then
      consumption.of_call(whole, step, "calls", 1)
    end
    if record.q then
      questions.open(whole, record)
    elseif record.w then
      whole.waits = math.max(whole.waits or 0, record.w)
    end
  end,

  line = function(lines, record, step)
    if record.q then
      local question = record.question
      if step then
        step.asking = ("question %d"):format(record.q)
      end
      lines:block(step, "warning", question.question, "Question %d: %s", record.q,
        question.header and question.header .. ": " or "")
      return
    end
    if record.sandbox == sandbox.LIFTED and not lines.lifted then
      lines.lifted = true -- shown once
      lines:say(step, "warning", "%s runs without a sandbox: none works here (skillrt agents says why)",
        record.to or "a program")
    end
    local to = record.to or record.kind == "child" and record.event
    local target = to and ("%s %s"):format(record.kind, to) or tostring(record.kind)
    if step then
      step.asking = target
    end
    if record.label then
      lines:say(step, "info", "Agent: %s%s", record.phase and record.phase .. ": " or "", record.label)
    end
    if lines.detail and not record.pure then
      lines:say(step, "detail", "Asking: %s (call %s%s)", target, tostring(record.c),
        record.a and (", attempt %d"):format(record.a) or "")
    end
  end,

  story = function(story, record, step)
    local call = step.by_place[record.c]
    if call and not call.ended then -- a further attempt, or a resumed call
      call.a = record.a or call.a
      return
    end
    call = { step = step.number, c = record.c, kind = record.kind, to = record.to, label = record.label,
      phase = record.phase, title = record.phase or step.title, at = record.at, attempts = {}, q = record.q,
      question = record.question,
      model = record.model, event = record.event, due = record.due, pure = record.pure, key = record.key }
    step.calls[#step.calls + 1] = call
    step.by_place[record.c] = call
    if record.q then
      story.questions[#story.questions + 1] = call
    end
  end,

  log = function(record)
    if record.q then
      return "warn", "Question", { question = record.question.question, number = record.q }
    end
  end,

  point = function(record) -- it may act and must not be repeated: the place before it is one to return to
    return repeats.acted(record) and record.key
      and { what = "before", text = ("%s %s"):format(record.kind, record.to or "") }
  end,
}
