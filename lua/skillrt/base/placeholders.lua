-- base/placeholders.lua: replaces placeholders such as {input.dir} in a command or URL by values.
--
-- One pass, literal: values are never expanded again, and no shell sees them (F10, F12). {{name}} is the text {name};
-- other braces stay. Knows nothing of tasks: the caller names the roots and gives the values.

local names = require("skillrt.base.names")
local text_of = require("skillrt.base.text")

local M = {}

local PLACE = "%f[{]({+)([%a_][%w_.-]*)(}+)" -- from the first brace of a row: a long row is looked at once

---Calls `found` with each placeholder's name and puts in what it returns.
---@param text string
---@param found fun(name: string): string?  nil: it stays
---@return string
function M.scan(text, found)
  return (text:gsub(PLACE, function(open, name, close)
    if #open >= 2 and #close >= 2 then
      return open:sub(2) .. name .. close:sub(2)
    end
    local value = found(name)
    return value and open:sub(2) .. value .. close:sub(2) or nil
  end))
end

---Checks at load time that the first part of each placeholder is known.
---@param text string
---@param roots table<string, any>  keyed by the names allowed here
---@return boolean? ok
---@return string? message
function M.check(text, roots)
  local message
  M.scan(text, function(name)
    local root = name:match("^[^.]*")
    if not roots[root] and not message then
      message = ("unknown placeholder {%s}%s; write {{%s}} for the text itself"):format(
        name,
        names.suggest(root, roots),
        name
      )
    end
  end)
  if message then
    return nil, message
  end
  return true
end

---Whether a text holds a placeholder of this root.
---@param text string
---@param root string
---@return boolean
function M.holds(text, root)
  local found = false
  M.scan(text, function(name)
    found = found or name:match("^[^.]*") == root
  end)
  return found
end

-- The value at a dotted path below a root; items of lists count from 1.
local function at_path(value, path)
  for part in path:gmatch("[^.]+") do
    if type(value) ~= "table" then
      return nil
    end
    local item = value[part]
    if item == nil and part:find("^%d+$") then
      item = value[math.tointeger(part)]
    end
    value = item
  end
  return value
end

local HINT = {
  input = "; give it with --set %s=...",
  env = "; set %s in the environment",
  output = "; only a step with an output has one",
}

local function value_of(name, roots)
  local root, path = name:match("^([^.]*)%.?(.*)$")
  local value = roots[root]
  if type(value) == "function" then
    value = value(path)
  elseif path ~= "" then
    value = at_path(value, path)
  end
  local kind = type(value)
  if kind == "string" and value:find("\0", 1, true) then
    return nil, ("{%s} holds a NUL byte"):format(name)
  elseif kind == "string" or kind == "boolean" then
    return tostring(value)
  elseif kind == "number" then
    return text_of.number(value)
  elseif kind == "table" then
    return nil, ("{%s} is a table; name one of its fields, or pass {task} on standard input"):format(name)
  end
  local hint = (HINT[root] or ""):format(path)
  return nil, ("{%s} has no value%s"):format(name, hint)
end

---Puts the values in.
---@param text string
---@param roots table<string, any>  values, tables of values, or functions that are given the path
---@return string?
---@return string? message
function M.fill(text, roots)
  local message
  local out = M.scan(text, function(name)
    local value, problem = value_of(name, roots)
    message = message or problem
    return value
  end)
  if message then
    return nil, message
  end
  return out
end

return M
