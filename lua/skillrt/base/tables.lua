-- base/tables.lua: common table functions: merge, append, make a set, search.
--
-- Pure.

local M = {}

---Copies all fields of a table into another one.
---@generic T: table
---@param into T
---@param from table|nil
---@return T into
function M.fill(into, from)
  for key, value in pairs(from or {}) do
    into[key] = value
  end
  return into
end

---Appends all items of a list to another one.
---@generic T: table
---@param into T
---@param list any[]
---@return T into
function M.append(into, list)
  return table.move(list, 1, #list, #into + 1, into)
end

---The items of a list, each below what one of its fields holds.
---@generic T
---@param list T[]|nil
---@param key string
---@return table<any, T>
function M.by(list, key)
  local out = {}
  for _, item in ipairs(list or {}) do
    out[item[key]] = item
  end
  return out
end

---One field of the items of a list.
---@param list table[]|nil
---@param key string
---@return any[]
function M.column(list, key)
  local out = {}
  for i, item in ipairs(list or {}) do
    out[i] = item[key]
  end
  return out
end

---The items of a list, each as a key.
---@param list any[]
---@return table<any, true>
function M.set(list)
  local out = {}
  for _, item in ipairs(list) do
    out[item] = true
  end
  return out
end

---The words of a text, each as a key.
---@param text string
---@return table<string, true>
function M.words(text)
  local out = {}
  for word in text:gmatch("%S+") do
    out[word] = true
  end
  return out
end

---The first of two values that is not nil.
---@param one any
---@param other any
---@return any
function M.first(one, other)
  if one == nil then
    return other
  end
  return one
end

---Whether a list holds a value.
---@param list any[]
---@param value any
---@return boolean
function M.has(list, value)
  for _, item in ipairs(list) do
    if item == value then
      return true
    end
  end
  return false
end

---A value from outside if it is a table; else an empty table.
---@param value any
---@return table
function M.object(value)
  return type(value) == "table" and value or {}
end

return M
