-- document/load/state_md.lua: phases/state-schema.md: the fields of a TypeScript interface and the initial state of a
-- run, as JSON or as a JavaScript literal.
--
-- Called by prose.lua before all else that reads conditions: it knows which words are fields.
local js = require "skillrt.document.load.js"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.load.markdown"
local words = require "skillrt.document.load.words"
local texts = require "skillrt.base.text"

local M = {}

local trim = texts.trim

---@class skillrt.load.StateMd
---@field fields { name: string, type: string, description: string, optional: boolean? }[]
---@field initial table<string, any>?
---@field unread { text: string, line: integer }[]  initial values that are code

-- Without comments, but with their line breaks; a comment after a field describes it.
local function field_of(line)
  local name, optional, kind = line:match "^%s*['\"]?([%a_][%w_]*)['\"]?(%??)%s*:(.*)$"
  if not name then
    return nil
  end
  local plain, note = kind:match "^(.-)//(.*)$"
  kind = trim(plain or kind):gsub("[;,]$", "")
  return { name = name, type = trim(kind), description = trim(note or ""), optional = optional == "?" or nil }
end

local function depth_change(line)
  local plain = line:gsub("//.*$", ""):gsub("'[^']*'", ""):gsub('"[^"]*"', "")
  local _, open = plain:gsub("[{(%[]", "")
  local _, close = plain:gsub("[})%]]", "")
  return open - close
end

-- Where the body of the first interface begins whose name ends in State, else of the first one.
local function interface_at(text)
  local first
  for name, behind in text:gmatch "interface%s+([%w_]+)()" do
    first = first or behind
    if name:sub(-5) == "State" then
      first = behind
      break
    end
  end
  local brace = first and text:find("{", first, true)
  return brace and brace + 1
end

-- Its top-level fields.
local function read_interface(block, out)
  local text = block.text
  local at = interface_at(text)
  if not at then
    return
  end
  local depth, in_comment = 0, false
  local body = text:match("^([^\n{}]*)}", at) -- all in one line: as if each field had a line of its own
  body = body and body:gsub(body:find(";", 1, true) and ";" or ",", "\n") or text:sub(at)
  for one in texts.lines(body) do
    if one:find "^%s*/%*" or in_comment then
      in_comment = not one:find("*/", 1, true)
    else
      local change = depth_change(one)
      local field = depth == 0 and field_of(one)
      if field then
        field.type = change > 0 and "object" or field.type ~= "" and field.type or "object"
        out.fields[#out.fields + 1] = field
      end
      depth = depth + change
      if depth < 0 then
        return
      end
    end
  end
end

local function read_initial(block, out)
  local value, text = nil, block.text
  if block.lang == "json" then
    value = json.decode(text)
  end
  if value == nil then
    local at = text:match "^%s*(){" or text:match "=%s*(){"
    value = at and {}
    local first = at and block.line + 1 + select(2, text:sub(1, at):gsub("\n", ""))
    for _, entry in ipairs(at and js.entries(text, at) or {}) do
      if entry.key and not js.is_code(entry.value) then
        value[entry.key] = entry.value
      elseif entry.key or entry.value.code then
        local told = entry.key and ("%s: %s"):format(entry.key, entry.value.code) or entry.value.code
        out.unread[#out.unread + 1] = { key = entry.key, text = told, line = first + entry.line }
      end
    end
  end
  if json.is_object(value) then
    out.initial = value
  end
end

---@param blocks skillrt.load.Markdown
---@return skillrt.load.StateMd
function M.read(blocks)
  local out = { fields = {}, unread = {} }
  for _, block in ipairs(blocks) do
    if block.kind == "code" and #out.fields == 0 and block.text:find "interface%s" then
      read_interface(block, out)
    end
  end
  for _, block in ipairs(markdown.section(blocks, words.INITIAL) or {}) do
    local data = block.kind == "code" and (block.lang == "json" or block.lang:find "^[jt]s" or block.lang:find "script")
    if data and not out.initial then
      read_initial(block, out)
    end
  end
  return out
end

return M
