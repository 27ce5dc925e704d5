-- base/json.lua: the core's exact JSON codec under one name for all Lua modules.
--
-- Integers stay integers, every double round-trips, [] stays an array.

local core = require("skillrt.core")

---@class skillrt.json
---@field null lightuserdata  JSON null; the same value as lua-cjson's
---@field encode fun(value: any, options?: { sorted?: boolean, indent?: integer }): string|nil, string?, string?
---@field decode fun(text: string): any, string?, string?
---@field array fun(items?: table): table  marks a table as an array, so that an empty one is []
local M = core.json

---A 64-bit number for some bytes: equal bytes, equal number. Not for durable use.
---@type fun(text: string): integer
M.hash = core.hash

---Whether a value is written as a JSON array: marked as one, or with items 1..n.
---@param value any
---@return boolean
function M.is_array(value)
  if type(value) ~= "table" then
    return false
  end
  local meta = getmetatable(value)
  if meta then
    return meta == M.array_mt or meta == M.empty_array_mt or meta.__is_json_array == true
  end
  return rawlen(value) > 0
end

---Whether a value is written as a JSON object.
---@param value any
---@return boolean
function M.is_object(value)
  return type(value) == "table" and not M.is_array(value)
end

return M
