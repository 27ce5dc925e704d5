-- report/page.lua: a run as one page of HTML that loads nothing: what it shows is data, drawn by the scripts of
-- templates/report/.
--
-- Nothing of the data is ever HTML: it stands in the page as JSON without a character that HTML knows, and its
-- policy (CSP) allows the page's own script and style, by their digests, and nothing else. Called by
-- cli/command/report.lua.

local base64 = require("skillrt.base.base64")
local core = require("skillrt.core")
local data_of = require("skillrt.report.page_data")
local iso = require("skillrt.base.instant").iso
local story_of = require("skillrt.run.story")
local template = require("skillrt.base.template")
local text_of = require("skillrt.base.terminal_text")

local M = {}

local SCRIPTS <const> = { "base", "charts", "list", "state" }

-- A text's digest as a policy names it.
local function digest(text)
  return ("'sha256-%s'"):format(base64.encode(base64.of_hex(core.sha256(text))))
end

local function numbered(char)
  return ("\\u%04x"):format(utf8.codepoint(char))
end

---A value as JSON that may stand anywhere in a page: no character of it is one of HTML's, and none turns or hides
---what stands beside it.
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

---The page of a run.
---@param dir string
---@return string|nil html
---@return string? message
---@return string? code
function M.of(dir)
  local story, books, code = story_of.read(dir, nil, story_of.MOST)
  if not story then
    return nil, books --[[@as string]], code
  end
  local data = data_of.of(dir, story, books)
  local scripts = {}
  for i, name in ipairs(SCRIPTS) do
    scripts[i] = assert(core.asset(("templates/report/%s.js"):format(name)))
  end
  local style, script = assert(core.asset("templates/report/page.css")), table.concat(scripts, "\n")
  local kind = require("skillrt.report.closing").kind(data.status)
  local function plain(text)
    return text and text_of.escape(tostring(text)) or nil
  end
  return template.render(assert(core.asset("templates/report/page.mustache")), {
    csp = ("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'"):format(digest(style),
      digest(script)),
    skill = plain(data.skill),
    status = data.status,
    reason = plain(data.reason),
    kind = kind,
    mode = plain(data.mode),
    version = plain(data.version or "?"),
    run = plain(data.run),
    began = iso(data.at):gsub("T", " "):gsub("%.%d+Z", " UTC"),
    cards = cards_of(data, story),
    message = data.status ~= "completed" and data.message and table.concat(text_of.lines(data.message), "\n") or nil,
    next = data.next,
    left_out = story.left_out.steps > 0 and amount(story.left_out.steps) or nil,
    is_machine = story.is_machine or nil,
    has_notice = data.status ~= "completed" and (data.message or data.next) ~= nil,
    skillrt = core.version,
    style = style,
    script = script,
    data = M.json(data),
  }, nil, { name = "page.mustache", escape = "html" })
end

return M
