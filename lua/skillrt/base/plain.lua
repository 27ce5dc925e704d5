-- base/plain.lua: a deep copy of what JSON can hold, from any value that a script gave.
--
-- Reads tables past their metatables, which may raise, loop or lie; copies a view of the state as what it shows.
-- Names the place of anything that cannot be saved. Knows no skills.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local readonly = require("skillrt.base.readonly")

local M = {}

local MAX_DEPTH <const> = 128
local null = json.null

-- The table to read for one that a script made, and whether it is an array; or nil and why not.
local function source_of(value)
  local meta = debug.getmetatable(value)
  if not meta then
    return value, rawlen(value) > 0
  end
  local tree = readonly.target(value)
  if tree then
    return tree, json.is_array(tree)
  elseif rawget(meta, "__pairs") ~= nil then
    return nil, "is a table with __pairs, which hides what it holds; give a plain one"
  end
  return value, meta == json.array_mt or meta == json.empty_array_mt or rawget(meta, "__is_json_array") == true
    or rawlen(value) > 0
end

-- What keeps a table from being an array in JSON.
local function array_problem(source)
  local items, count = 0, rawlen(source)
  for key in next, source do
    if math.type(key) ~= "integer" then
      return "mixes items and names; use one or the other"
    end
    items = key >= 1 and key <= count and items + 1 or math.huge
  end
  return items ~= count and "is a list with gaps; JSON has none" or nil
end

local copy_value

-- A copy; or nil, what is wrong, and the path to it from the inside out.
local function copy_table(value, depth, open)
  if open[value] then
    return nil, "contains itself; a saved value must be a tree", {}
  elseif depth > MAX_DEPTH then
    return nil, ("is more than %d levels deep"):format(MAX_DEPTH), {}
  end
  local source, array = source_of(value)
  local problem = not source and array or array and array_problem(source) or nil
  if problem then
    return nil, problem, {}
  end
  open[value] = true
  local out = {}
  for key, item in next, source do
    local kind = type(item)
    if not array and type(key) ~= "string" then
      return nil, ("has the key %s; keys must be texts"):format(names.show(key)), {}
    elseif kind == "string" or kind == "boolean" then
      out[key] = item
    else
      local new, why, way = copy_value(item, kind, depth + 1, open)
      if why then
        way[#way + 1] = array and ("[%d]"):format(key) or "." .. key
        return nil, why, way
      end
      out[key] = new
    end
  end
  open[value] = nil
  return array and json.array(out) or out
end

function copy_value(value, kind, depth, open)
  if kind == "table" then
    return copy_table(value, depth, open)
  elseif kind == "number" and value - value ~= 0 then
    return nil, ("is %s, which cannot be saved; use a finite number"):format(tostring(value)), {}
  elseif kind == "number" or kind == "string" or kind == "boolean" or value == null then
    return value
  end
  return nil, ("is a %s, which cannot be saved; only texts, numbers, booleans, lists and tables can"):format(kind), {}
end

---A deep copy of what JSON can hold; array marks are kept, nothing is shared (F37).
---@param value any
---@param where string?  names the value in messages
---@return any copy
---@return string? message
function M.copy(value, where)
  local copy, why, way = copy_value(value, type(value), 1, {})
  if not why then
    return copy
  end
  local path = {}
  for i = #way, 1, -1 do
    path[#path + 1] = way[i]
  end
  return nil, ("%s%s %s"):format(where or "value", table.concat(path), why)
end

return M
