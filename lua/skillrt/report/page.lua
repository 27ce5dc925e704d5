-- report/page.lua: a run as one self-contained HTML page: its data, drawn by the scripts of templates/report/.
--
-- The data is never HTML: it is JSON without any character that HTML interprets, and the page's policy (CSP) allows
-- only the page's own script and style, by digest. Called by cli/command/report.lua.

local agents = require("skillrt.agent")
local base64 = require("skillrt.base.base64")
local closing = require("skillrt.report.closing")
local core = require("skillrt.core")
local cut_at = require("skillrt.base.text").cut
local iso = require("skillrt.base.instant").iso
local json = require("skillrt.base.json")
local record_of = require("skillrt.base.record")
local store_of = require("skillrt.run.store")
local story_of = require("skillrt.run.story")
local template = require("skillrt.base.template")
local text_of = require("skillrt.base.terminal_text")
local used_of = require("skillrt.report.usage")
local views = require("skillrt.run.views")

local M = {}

-- ---- the data, as one JSON value: texts share a budget, so that a browser opens the page at once ----

---Bytes of all prompts and replies together, of a single one at most and at least; of all changes of the state.
local TEXTS, LONGEST, SHORTEST, CHANGES = 6 << 20, 64 << 10, 300, 4 << 20

local FINAL <const> = 128 << 10 -- bytes of one value of the final state

-- A text cut to a size, in whole characters.
local function cut(text, most)
  local kept = #cut_at(text, most, "")
  return kept == #text and text
    or ("%s\n… %d more bytes; skillrt log DIR --json has them"):format(text:sub(1, kept), #text - kept)
end

-- The share of each text, so that all fit: short ones are whole, long ones share the rest.
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

-- What an agent said, without the format of its program or provider; of others the reply itself.
local function said_by(call)
  local kind, row = agents.behind(call.to)
  local reply = { body = call.reply, extra = call.said, code = call.code }
  return kind and kind.words and kind:words(reply, row) or call.reply
end

-- The recorded prompts, by step and place, and the replies to them.
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

-- A value whose text is within the size; of a longer one, its length.
local function bounded(value, most, hint)
  local text = json.encode(value) or ""
  if #text <= most then
    return value
  end
  return ("(left out: %d bytes%s)"):format(#text, hint)
end

-- The changes; values that are too long are replaced by their length.
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
    label = call.label,
    model = call.model,
    phase = call.label and call.title,
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
    place = step.place,
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

-- The state before the first shown step: the replay of changes starts there.
local function first_state(story)
  local before = story.left_out.state
  return change_of(before and before.root or story.run.state or {}, FINAL) or {}
end

---@param dir string
---@param story skillrt.Story
---@param books skillrt.Books
---@return table data
local function of(dir, story, books)
  texts_of(dir, story)
  local texts, changes = sizes_of(story)
  local most = share(texts, TEXTS, LONGEST, SHORTEST)
  local most_change = share(changes, CHANGES, LONGEST, 200)
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
    status = story.status,
    reason = story.reason,
    message = story.message,
    next = command,
    at = run.at,
    ended = story.at,
    active = story:active_ms(),
    sessions = json.array(story.sessions),
    input = change_of(run.input, LONGEST),
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

-- A text's digest in the form of the policy.
local function digest(text)
  return ("'sha256-%s'"):format(base64.encode(base64.of_hex(core.sha256(text))))
end

local function numbered(char)
  return ("\\u%04x"):format(utf8.codepoint(char))
end

---A value as JSON that may be anywhere in a page: without characters that HTML interprets, or that hide or reorder
---the text around them.
---@param value any
---@return string
function M.json(value)
  local text = assert(core.json.encode(value))
  text = text:gsub("[<>&\127]", numbered)
  for _, hidden in ipairs({ "\xE2\x80[\x8B-\x8F\xA8-\xAE]", "\xE2\x81[\xA0-\xAF]", "\xEF\xBB\xBF", "\xD8\x9C",
    "\xC2[\x80-\x9F\xAD]", "\xE1\xA0\x8E", "\xEF\xBF[\xB9-\xBB]" }) do
    text = text:gsub(hidden, numbered)
  end
  return (text:gsub("\xF3\xA0[\x80-\xBF][\x80-\xBF]", function(char) -- tags, two numbers each
    local code = utf8.codepoint(char) - 0x10000
    return ("\\u%04x\\u%04x"):format(0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
  end))
end

local function amount(number)
  local text = tostring(math.tointeger(number) or number)
  return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

local function card(name, value, more, kind)
  return { name = name, value = value, more = more, kind = kind }
end

local function cards_of(data, story)
  local failed, calls = story.left_out.failed, story.left_out.calls
  for _, step in ipairs(story.steps) do
    failed, calls = failed + (step.status == "failed" and 1 or 0), calls + story_of.calls_of(step)
  end
  local list, used = {}, story.used
  local open = #data.sessions
  list[1] = card("time", text_of.duration(data.active), open > 1 and ("in %d sessions"):format(open) or nil)
  list[2] = card("steps", amount(#story.steps + story.left_out.steps),
    failed > 0 and ("%d failed"):format(failed) or nil, failed > 0 and "error" or nil)
  list[3] = card("calls", amount(calls), story.retries > 0 and ("%d further attempts"):format(story.retries) or nil)
  if used.tokens then
    list[#list + 1] = card("tokens", amount(used.tokens), ("%s in, %s out"):format(amount(used.input_tokens or 0),
      amount(used.output_tokens or 0)))
  end
  if used.dollars then
    list[#list + 1] = card("money", ("$%.4f"):format(used.dollars))
  end
  for _, one in ipairs(data.questions or {}) do
    list.open = (list.open or 0) + (one.answer == nil and 1 or 0)
  end
  if data.questions then
    local open_ones = list.open > 0
    list[#list + 1] = card("questions", tostring(#data.questions), open_ones and ("%d open"):format(list.open) or nil,
      open_ones and "warning" or nil)
  end
  list.open = nil
  return list
end

-- The parts of a run that its page needs.
local function read(dir)
  local story, books, code = story_of.read(dir, nil, story_of.MOST)
  if not story then
    return nil, books --[[@as string]], code
  end
  local data = of(dir, story, books)
  data.cards, data.left_out = cards_of(data, story), story.left_out.steps
  return data, story
end

---The data of a run's page, as JSON.
---@param dir string
---@return string|nil text
---@return string? message
---@return string? code
function M.data(dir)
  local data, message, code = read(dir)
  if not data then
    return nil, message --[[@as string]], code
  end
  return core.json.encode(data)
end

-- The template with its script and style, and the policy that allows them.
local function rendered(values, scripts, styles, connects)
  local function joined(names, ending)
    local texts = {}
    for i, name in ipairs(names) do
      texts[i] = assert(core.asset(("templates/report/%s.%s"):format(name, ending)))
    end
    return table.concat(texts, "\n")
  end
  values.style, values.script, values.skillrt = joined(styles, "css"), joined(scripts, "js"), core.version
  values.csp = ("default-src 'none'; style-src %s; script-src %s; %sbase-uri 'none'; form-action 'none'"):format(
    digest(values.style), digest(values.script), connects)
  local html, message = template.render(assert(core.asset("templates/report/page.mustache")), values, nil,
    { name = "page.mustache", escape = "html" })
  return html, message or values.csp
end

---The page without data; it fetches the data from the server it came from.
---@return string html
---@return string policy
function M.live()
  return assert(rendered({ is_live = true, skill = "skillrt", status = "runs" },
    { "base", "charts", "list", "state", "live" }, { "page", "live" }, "connect-src 'self'; "))
end

---The page of a run.
---@param dir string
---@return string|nil html
---@return string? message
---@return string? code
function M.of(dir)
  local data, story, code = read(dir)
  if not data then
    return nil, story --[[@as string]], code
  end
  local function plain(text)
    return text and text_of.escape(tostring(text)) or nil
  end
  return rendered({
    skill = plain(data.skill),
    status = data.status,
    reason = plain(data.reason),
    kind = require("skillrt.report.closing").kind(data.status),
    mode = plain(data.mode),
    version = plain(data.version or "?"),
    run = plain(data.run),
    began = iso(data.at):gsub("T", " "):gsub("%.%d+Z", " UTC"),
    cards = data.cards,
    message = data.status ~= "completed" and data.message and table.concat(text_of.lines(data.message), "\n") or nil,
    next = data.next,
    left_out = data.left_out > 0 and amount(data.left_out) or nil,
    is_machine = story.is_machine or nil,
    has_notice = data.status ~= "completed" and (data.message or data.next) ~= nil,
    data = M.json(data),
  }, { "base", "charts", "list", "state" }, { "page" }, "")
end

return M
