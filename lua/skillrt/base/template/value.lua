-- base/template/value.lua: what a Lua value means in a template: false or not, list or not, as text.
--
-- Knows neither tags nor the context stack. Called by template.render only.
local texts = require "skillrt.base.text"

local M = {}

---JSON null: light userdata without a metatable (skillrt.json.null and cjson.null).
---@param value any
---@return boolean
function M.is_null(value)
  return type(value) == "userdata" and getmetatable(value) == nil
end

-- Read-only views of a table answer through their metamethods.
local function is_empty(value)
  if #value > 0 then
    return false
  end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.__pairs then
    local step, state, first = pairs(value)
    return step(state, first) == nil
  end
  return next(value) == nil
end

---A list has elements 1..n or nothing at all; any other table is an object.
---@param value any
---@return boolean
function M.is_list(value)
  return type(value) == "table" and (#value > 0 or is_empty(value))
end

---Nothing, false, null and the empty table; 0 and "" are true, as in Lua.
---@param value any
---@return boolean
function M.is_false(value)
  return not value or M.is_null(value) or type(value) == "table" and is_empty(value)
end

---The text of a value; nil, what it is, for one that has none.
---@param value any
---@return string? text
---@return string? what
function M.text(value)
  local kind = type(value)
  if kind == "string" then
    return value
  elseif kind == "number" then
    return texts.number(value)
  elseif kind == "boolean" then
    return tostring(value)
  elseif kind == "nil" or M.is_null(value) then
    return ""
  end
  local meta = getmetatable(value)
  if type(meta) == "table" and meta.__tostring then
    return tostring(value)
  end
  if kind == "table" then
    return nil, M.is_list(value) and "a list" or "an object"
  end
  return nil, "a " .. kind
end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

---@param text string
---@return string
function M.escape_html(text)
  if text:find "[&<>\"']" then
    text = text:gsub("[&<>\"']", ENTITIES)
  end
  return text
end

return M
