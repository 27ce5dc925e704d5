-- report/page_data.lua: what the page of a run shows, as one value of JSON: its story, each text within a bound.
--
-- However long a run was, its page stays one that a browser opens at once: texts share a budget. Knows stories, no
-- HTML. Called by page.lua.

local agents = require("skillrt.agent")
local closing = require("skillrt.report.closing")
local json = require("skillrt.base.json")
local record_of = require("skillrt.base.record")
local store_of = require("skillrt.run.store")
local used_of = require("skillrt.report.usage")
local views = require("skillrt.run.views")

local M = {}

---Bytes of all prompts and replies together, of one of them at most and at least; of all changes of the state.
M.TEXTS, M.LONGEST, M.SHORTEST, M.CHANGES = 6 << 20, 64 << 10, 300, 4 << 20

local FINAL <const> = 128 << 10 -- bytes of one value of the final state

-- A text within a bound, whole characters.
local function cut(text, most)
  if #text <= most then
    return text
  end
  local at = utf8.len(text) and utf8.offset(text, 0, most + 1) or most + 1
  return ("%s\n… %d more bytes; skillrt log DIR --json has them"):format(text:sub(1, at - 1), #text - at + 1)
end

-- How much each of some texts gets, so that all fit: short ones are whole, long ones share what is left.
local function share(sizes, budget, longest, shortest)
  table.sort(sizes)
  local left = budget
  for i, size in ipairs(sizes) do
    local each = left // (#sizes - i + 1)
    if size > each then
      return math.max(shortest, math.min(longest, each))
    end
    left = left - size
  end
  return longest
end

-- What an agent said, not how its program or provider puts that; of others the reply as it is.
local function said_by(call)
  local kind, row = agents.behind(call.to)
  local reply = { body = call.reply, extra = call.said, code = call.code }
  return kind and kind.words and kind:words(reply, row) or call.reply
end

-- The prompts that were kept, by step and place, and what was said to them.
local function texts_of(dir, story)
  local store = store_of.at(dir)
  for _, step in ipairs(story.steps) do
    for _, call in ipairs(step.calls) do
      local text = store:kept(views.prompt(step.number or 0, call.c or ""), 4 << 20)
      call.prompt = text and record_of.printable(text)
      call.reply = call.reply and said_by(call)
    end
  end
end

local function value_text(value)
  return type(value) == "string" and value or json.encode(value) or "?"
end

-- A value whose text is within a bound; of a longer one, its size.
local function bounded(value, most, hint)
  local text = json.encode(value) or ""
  if #text <= most then
    return value
  end
  return ("(left out: %d bytes%s)"):format(#text, hint)
end

-- What was changed, with values that are too long told by their size.
local function change_of(set, most)
  if set == nil then
    return nil
  end
  local out = {}
  for key, value in pairs(set) do
    out[key] = bounded(value, most, "")
  end
  return next(out) ~= nil and out or nil
end

local function sizes_of(story)
  local texts, changes = {}, {}
  for _, step in ipairs(story.steps) do
    for _, call in ipairs(step.calls) do
      texts[#texts + 1] = call.prompt and #call.prompt or nil
      texts[#texts + 1] = call.reply and #call.reply or nil
    end
    for _, value in pairs(step.set or {}) do
      changes[#changes + 1] = #(json.encode(value) or "")
    end
  end
  return texts, changes
end

local function list_of(list)
  return list[1] and json.array(list) or nil
end

local function call_of(story, call, most)
  local question = call.question and (call.question.question or call.question.header)
  return {
    c = call.c,
    kind = call.kind,
    to = call.label or call.to or call.event or call.skill,
    at = call.at,
    ms = story:ms_of(call),
    ok = call.ok,
    message = call.message or call.doubt,
    attempts = list_of(call.attempts),
    prompt = call.prompt and cut(call.prompt, most),
    reply = call.reply and cut(call.reply, most),
    said = call.said and cut(call.said, math.min(most, 4096)),
    value = call.value ~= nil and cut(value_text(call.value), most) or nil,
    question = question,
    used = call.used,
    pure = call.pure,
  }
end

local function step_of(story, step, most, most_change)
  local calls, attempts = {}, {}
  for i, call in ipairs(step.calls) do
    calls[i] = call_of(story, call, most)
  end
  for i, one in ipairs(step.attempts) do
    attempts[i] = { at = one.at, class = one.class, message = one.message, retry = one.retry }
  end
  local notes = {}
  for i, note in ipairs(step.notes) do
    notes[i] = { at = note.at, text = note.title and "== " .. note.title or note.text }
    if i == 500 then
      break
    end
  end
  return {
    number = step.number,
    id = step.id,
    kind = step.kind == "phase" and "phase" or nil,
    n = step.n,
    sub = step.sub,
    at = step.at,
    ms = story:ms_of(step),
    status = step.status,
    set = change_of(step.set, most_change),
    why = step.why,
    reason = step.reason,
    file = step.file,
    summary = step.summary,
    out = step.out ~= nil and cut(value_text(step.out), most) or nil,
    used = step.used,
    calls = list_of(calls),
    attempts = list_of(attempts),
    notes = list_of(notes),
  }
end

local function questions_of(story)
  local list = {}
  for i, one in ipairs(story.questions) do
    list[i] = {
      q = one.q,
      step = one.step,
      header = one.question.header,
      question = one.question.question,
      at = one.at,
      ended = one.ended,
      answer = one.value ~= nil and value_text(one.value) or nil,
      unanswered = one.unanswered,
    }
  end
  return list
end

local function final_state(books)
  local out = {}
  for key, value in pairs(books.state and views.state(books) or {}) do
    out[key] = bounded(value, FINAL, "; skillrt state DIR shows it")
  end
  return out
end

-- What the first step that is shown began with: the replay of changes starts there.
local function first_state(story)
  local before = story.left_out.state
  return change_of(before and before.root or story.run.state or {}, FINAL) or {}
end

---@param dir string
---@param story skillrt.Story
---@param books skillrt.Books
---@return table data
function M.of(dir, story, books)
  texts_of(dir, story)
  local texts, changes = sizes_of(story)
  local most = share(texts, M.TEXTS, M.LONGEST, M.SHORTEST)
  local most_change = share(changes, M.CHANGES, M.LONGEST, 200)
  local steps = {}
  for i, step in ipairs(story.steps) do
    steps[i] = step_of(story, step, most, most_change)
  end
  local run, root = story.run, books.state and books.state.root or {}
  local open = require("skillrt.run.books.questions").list(books)
  local command = closing.next({
    status = story.status,
    reason = story.reason,
    questions = open[1] and open,
    failed_step = books.last_failed and books.last_failed.id,
    limit = books.limit,
  }, dir)
  return {
    skill = run.skill,
    version = run.version,
    mode = run.mode,
    run = run.run,
    status = story.interrupted and "interrupted" or story.status,
    reason = story.reason,
    message = story.message,
    next = command,
    at = run.at,
    ended = story.at,
    active = story:active_ms(),
    sessions = json.array(story.sessions),
    input = change_of(run.input, M.LONGEST),
    steps = json.array(steps),
    questions = list_of(questions_of(story)),
    errors = list_of(root.errors or {}),
    edits = list_of(story.edits),
    moves = story.is_machine and list_of(story.moves) or nil,
    limits = list_of(used_of.list(books)),
    used = next(story.used) and story.used or nil,
    retries = story.retries,
    first = first_state(story),
    state = final_state(books),
  }
end

return M
