-- run/record/result.lua: a call has finished: its result is used from now on, whatever happens.

local arrivals = require("skillrt.run.books.arrivals")
local questions = require("skillrt.run.books.questions")
local phases = require("skillrt.run.books.phases")
local repeats = require("skillrt.mode.repeats")
local subs = require("skillrt.run.books.subs")

-- A finished call in the books. Its result is read from the journal when it is needed; if the journal is not kept
-- (`seq` never comes) it is held.
local function known_of(call, record, seq)
  local failed = record.failed
  local canceled = failed and failed.class == "canceled" or nil
  return {
    digest = record.digest or call and call.digest,
    seq = seq,
    result = not seq and record or nil,
    acted = call and not record.unsent and repeats.acted(call) or nil,
    canceled = canceled,
    answered = not record.unsent and not record.unknown and not canceled or nil,
    decided = record.decided,
    own = record.own,
    waited = record.waited,
    to = call and call.to,
    pure = call and call.pure,
    said = call and call.said,
    label = call and call.label,
    converses = call and call.converses,
  }
end

-- A local function whose value is recorded has no earlier call record.
local function of_once(record, step)
  local call = { step = step.number, c = record.c, kind = "once", at = record.at, attempts = {},
    to = type(record.digest) == "string" and record.digest:match("^once (.*)$") or nil }
  step.calls[#step.calls + 1] = call
  step.by_place[record.c] = call
  return call
end

-- The result of a reply, for people.
local function judge(call, reply)
  local json, failure = require("skillrt.base.json"), nil
  call.ok = call.kind == "run" -- a failed run has `failed`
  if not call.ok then
    local options = { argv = call.kind == "command" and { call.to } or nil }
    call.ok, failure = require("skillrt.agent.expect").judge("raw", call.kind, reply, options)
    call.ok = call.ok == true
  end
  call.code, call.message, call.took = reply.code, failure and failure.message, reply.elapsed_ms
  call.reply = type(reply.body) == "string" and reply.body or reply.body ~= nil and json.encode(reply.body) or nil
  call.said = type(reply.extra) == "string" and reply.extra ~= "" and reply.extra or nil
end

-- The result of a call, in a line for people; the answer itself is not shown.
local function in_words(record)
  local reply, failed, value = record.reply, record.failed, record.value
  local kind, name = tostring(record.digest):match("^(%l+) (%S+)")
  if failed then
    return ("No result: %s: %s"):format(tostring(failed.class), tostring(failed.message))
  elseif reply then
    local is_odd = reply.status == "ok" and (reply.code or 0) ~= 0 and reply.code ~= 200
    return ("Reply: %s, %d bytes"):format(is_odd and ("code %d"):format(reply.code) or tostring(reply.status),
      type(reply.body) == "string" and #reply.body or 0)
  elseif kind == "tool" and type(value) == "table" then
    local text = tostring(value.text)
    return value.is_error and ("Tool %s: failed: %s"):format(name, text) or ("Tool %s: %d bytes"):format(name, #text)
  end
  return kind == "once" and ("Recorded: %s"):format(name) or "Over"
end

return {
  doc = "a call, the use of a tool, or `ctx.once` finished",
  of_step = true,
  fields = [[
    step integer
    c string the call's place
    digest string? of what has no call: what it was
    reply table? what came back
    value any an answer, an event, what ctx.once gave
    context table? what ctx.once set in the shared context
    failed table? that it failed or was given up
    unsent boolean? it was not executed
    unknown boolean? it is unknown whether it was
    decided string? somebody said skip or fail while its outcome was unknown
    unanswered boolean? of a question: its default was taken
    q integer? of a question: its number
    w integer? of a wait: its number
    took any of a wait: it took the first event of its name
    event string? ... which name
    arrival string? the id under which an answer or event came
    approval string? the digest of what a person approved
    wrote string? the file that a tool has written
    waited boolean? of a tool: its function waited
    own boolean?
  ]],

  apply = function(books, record, whole, seq)
    local step, place = whole.steps[record.step], record.c
    local call = step.calls[place]
    local known = known_of(call, record, seq)
    step:answered(place, known)
    if record.decided then
      repeats.decide(books, step, record)
    end
    if record.wrote then
      phases.wrote(books, step, record.wrote)
    end
    if record.q then
      questions.close(whole, record.q)
    elseif record.took then
      arrivals.took(whole, record.event)
    end
    if call and call.sub and whole.subs then
      local scope = whole.subs[call.sub]
      known.acted = subs.acted(whole, call.sub)
      if scope and scope.status == "failed" then -- its step may be performed again
        known.scope = call
      else
        subs.forget(whole, call.sub)
      end
    end
    if known.acted and step.sub then
      books.acted = true
    end
  end,

  line = function(lines, record, step)
    if record.q and not record.failed then
      lines:say(step, "info", "%s: %s", record.unanswered and "No answer in time, default" or "Answer",
        require("skillrt.skill.question").in_words(record.value))
    elseif record.took then
      lines:say(step, "info", "Event: %s", record.event)
    elseif lines.detail then
      lines:say(step, "detail", "%s (call %s)", in_words(record), tostring(record.c))
    end
  end,

  story = function(story, record, step)
    local call, failed = step.by_place[record.c] or of_once(record, step), record.failed
    call.ended, call.value, call.unanswered = record.at, record.value, record.unanswered
    if failed then
      call.ok, call.class, call.message = false, failed.class, failed.message
    elseif record.reply then
      judge(call, record.reply)
    else
      call.ok = true
    end
    story.newest_call = call
  end,
}
