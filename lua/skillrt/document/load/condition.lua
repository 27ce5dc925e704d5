-- document/load/condition.lua: reads a precondition as people write it in lists and tables: the condition, or why it
-- cannot be read. Never guesses: prose stays prose.
--
-- Called by the readers of action documents, tables and orchestrators.
local effect = require "skillrt.skill.effect"
local expr = require "skillrt.expr"
local lpeg = require "skillrt.base.system".require "lpeg"
local markdown = require "skillrt.document.load.markdown"
local texts = require("skillrt.base.text")
local tables = require("skillrt.base.tables")

local M = {}

local trim, without_end = texts.trim, texts.without_end

M.JUDGED = "judged" -- the key of the state that would hold a judgement of prose

-- How documents say that there is none.
local NONE = {
  "^%-*$",
  "^\u{2014}$",
  "^none%f[%W]",
  "^no special",
  "^no preconditions?",
  "^n/a$",
  "^always$",
  "^\u{65E0}", -- none, in Chinese
}

---@param text string
---@return boolean
function M.is_none(text)
  local plain = trim(text:lower():gsub("[`*_.]", ""))
  for _, pattern in ipairs(NONE) do
    if plain:find(pattern) then
      -- "none of the files is open" is a condition in prose
      return #plain <= 24 or plain:find "precondition" ~= nil or plain:find "^\u{65E0}" ~= nil
    end
  end
  return false
end

-- Cache of compiled texts: documents repeat conditions.
local known, count = {}, 0

local function compiles(text)
  local one = known[text]
  if not one then
    if count > 5000 then
      known, count = {}, 0
    end
    local condition, message = expr.compile(text)
    one = { condition ~= nil, message }
    known[text], count = one, count + 1
  end
  return one[1], one[2]
end

-- A condition inside the brackets of a prose one: a hint at what its author may have meant.
local function inner(text)
  if #text > expr.MAX_BYTES then
    return nil
  end
  local inside = text:match "%((.+)%)" or text:match "\u{FF08}(.+)\u{FF09}" or text:match "`([^`]+)`"
  if inside and inside:find "[=<>!.]" and compiles(inside) then
    return inside
  end
  return nil
end

local function is_bare(text)
  return text:find "^!?%s*[%w_\128-\255]+$" ~= nil
end

---@class skillrt.load.Told
---@field text string        as written
---@field condition string?  as it is read; nil: it cannot be read
---@field problem string?    why it cannot be read
---@field hint string?       a condition found inside of it
---@field line integer

---The condition that replaces a prose one: it is false until somebody judges it, and a run that waits for it shows
---its words.
---@param text string
---@return string
function M.judged(text)
  local plain = text:gsub("[`'\"\\%c]", ""):gsub("%s+", " ")
  return ("%s.includes('%s')"):format(M.JUDGED, texts.cut(plain, 120))
end

local function refuse(text, problem)
  return { text = text, problem = problem, hint = inner(text) }
end

---A list item: code between backticks is a condition, with or without a remark after it; other text is one if it
---parses as one and is more than a word.
---@param text string
---@param is_field (fun(name: string): boolean)?  whether a bare word is a key of the state
---@return skillrt.load.Told? told  nil: it says there is none
function M.item(text, is_field)
  if M.is_none(text) then
    return nil
  end
  local code, rest = markdown.code_span(text)
  local other = code and rest:match "`([^`]+)`"
  if other and compiles(other) then
    return refuse(text, "it holds several conditions; give each an item of its own")
  end
  local source = code or text
  local compiled, message = compiles(source)
  if not compiled then
    return refuse(text, code and message or "it is prose")
  elseif not code and is_bare(source) then
    local word = source:match "[%w_\128-\255]+"
    if not (is_field and is_field(word)) and not word:find "^[%l%d]+_[%l%d_]+$" then
      return refuse(text, "a word alone may be prose; put a key of the state between backticks")
    end
  end
  return { text = text, condition = source }
end

local VALUES = tables.words "true false null undefined"

-- `status=pending` in a table means equality, not an assignment.
local function equality(part)
  local key, value = part:match "^([%a_][%w_.]*)%s*=%s*([^=].*)$"
  if not key or value:find "^=" then
    return nil
  elseif VALUES[value] or tonumber(value) or value:find "^'[^']*'$" or value:find '^"[^"]*"$' then
    return ("%s === %s"):format(key, value)
  elseif value:find "^[%w_-]+$" then
    return ("%s === '%s'"):format(key, value)
  end
  return nil
end

local P, S, V, C = lpeg.P, lpeg.S, lpeg.V, lpeg.C
local separator = P "," + "\u{FF0C}" + "\u{3001}" + "\u{FF1B}" + "<br" * P " " ^ 0 * P "/" ^ -1 * ">"

-- Splits at commas and line breaks, except inside brackets and quotes.
local PARTS <const> = P {
  lpeg.Ct(V "part" * (separator * V "part") ^ 0),
  part = C((V "whole" + 1 - separator) ^ 0) / trim,
  whole = P "'" * (1 - P "'") ^ 0 * "'" + P '"' * (1 - P '"') ^ 0 * '"' + P "`" * (1 - P "`") ^ 0 * "`"
    + S "([{" * (V "whole" + 1 - S "([{}])") ^ 0 * S "}])",
}

local function parts_of(cell)
  local ok, parts = pcall(PARTS.match, PARTS, cell) -- too deep in brackets: it is one
  local out = {}
  for _, part in ipairs(ok and parts or { trim(cell) }) do
    out[#out + 1] = part ~= "" and part or nil
  end
  return out
end

-- What stands between backticks; the text itself where it does not.
local function unmarked(text)
  if #text < 2 or not text:find "^`" or text:sub(-1) ~= "`" then
    return text
  end
  return trim(without_end(text:match "^`+(.*)$", "`"))
end

---The conditions of a table's cell.
---@param cell string
---@param is_field (fun(name: string): boolean)?
---@return skillrt.load.Told[]
function M.cell(cell, is_field)
  local out = {}
  if M.is_none(cell) then
    return out
  end
  for _, part in ipairs(parts_of(cell)) do
    local plain = unmarked(part)
    local equal = equality(plain)
    out[#out + 1] = equal and { text = part, condition = equal } or M.item(part, is_field)
  end
  return out
end

-- A value is one word or a quoted text; "done = true once all is read" is prose.
local function is_promise(text)
  local value = text:match "^[%a_][%w_.]*%s*[=<>!]+%s*(.-)$"
  if value then
    local quoted = value:find "^(['\"])[^'\"]*%1$" ~= nil
    return quoted or value:find "^-?[%w_.:/-]+$" ~= nil or value == "[]" or value == "{}"
  end
  return text:find "^[%a_][%w_.]*%s*[+-][+-]$" ~= nil
end

---The effects of a cell or an item: promises such as `done=true`; anything else stays prose.
---@param text string
---@return { text: string, effect: string? }[]
function M.effects(text)
  local out = {}
  if M.is_none(text) then
    return out
  end
  for _, part in ipairs(parts_of(text)) do
    local plain = unmarked(part):gsub("\u{2192}", "=")
    local promise = is_promise(plain) and effect.list { plain } ~= nil
    out[#out + 1] = { text = part, effect = promise and plain or nil }
  end
  return out
end

return M
