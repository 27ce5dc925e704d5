-- base/ordered.lua: pairs and next in an order that is the same in every process: 1, 2, 3 up to the first gap, then
-- the other keys sorted: whole numbers, other numbers, texts, false, true.
--
-- Keys of other kinds (tables, functions) come last, in no fixed order. A traversal costs one pass over the
-- keys, and sorting those behind the first gap. Pure. Used by base/environment.lua.

local tables = require("skillrt.base.tables")

local M = {}

local next, rawget, math_type, type = next, rawget, math.type, type

local RANK <const> = { integer = 1, float = 2, string = 3, boolean = 4 }

local function rank_of(key)
  return RANK[math_type(key) or type(key)] or 5
end

local function comes_first(a, b)
  local one, other = rank_of(a), rank_of(b)
  if one ~= other then
    return one < other
  elseif one == 4 then
    return not a and b
  end
  return one < 4 and a < b
end

-- The keys of a table that are not among 1 to `count`, sorted.
local function rest_of(list, count)
  local keys, others, texts_only = {}, {}, true
  for key in next, list do
    local rank = rank_of(key)
    if rank == 5 then
      others[#others + 1] = key
    elseif rank ~= 1 or key < 1 or key > count then
      keys[#keys + 1] = key
      texts_only = texts_only and rank == 3
    end
  end
  if texts_only then
    table.sort(keys)
  else
    table.sort(keys, comes_first)
  end
  return tables.append(keys, others)
end

local function check(value, name)
  if type(value) ~= "table" then
    error(("bad argument #1 to '%s' (table expected, got %s)"):format(name, value == nil and "nil" or type(value)), 3)
  end
end

---Like Lua's pairs, in a fixed order; fields may be removed during the traversal.
---@param list table
---@return function, table, nil
function M.pairs(list)
  local meta = debug.getmetatable(list)
  if meta and meta.__pairs then
    local iterate, state, first = meta.__pairs(list)
    return iterate, state, first
  end
  check(list, "pairs")
  local count, keys, at = 0, nil, 0
  return function()
    local value
    if not keys then
      value = rawget(list, count + 1)
      if value ~= nil then
        count = count + 1
        return count, value
      end
      keys = rest_of(list, count)
    end
    repeat
      at = at + 1
      value = rawget(list, keys[at])
    until value ~= nil or at > #keys
    return keys[at], value
  end, list, nil
end

-- The first key of a table that has one, in one pass.
local function first_of(list)
  local first = next(list)
  for key in next, list do
    if comes_first(key, first) then
      first = key
    end
  end
  return first
end

local orders = setmetatable({}, { __mode = "k" }) -- by table: its keys after the first gap, during a traversal

-- The key that follows another one, after the first gap.
local function following(list, key)
  local order = orders[list]
  if not order or not (order.place[key] or (math_type(key) == "integer" and key == order.count)) then
    local count = 0
    while rawget(list, count + 1) ~= nil do
      count = count + 1
    end
    order = { keys = rest_of(list, count), place = {}, count = count }
    for i, one in ipairs(order.keys) do
      order.place[one] = i
    end
    orders[list] = order
  end
  local at = order.place[key]
  if not at and not (math_type(key) == "integer" and key >= 1 and key <= order.count) then
    error("invalid key to 'next'", 3)
  end
  return order, at or 0
end

---As Lua's next, in the same order. The first key of a table without a 1 costs a look at all of them.
---@param list table
---@param key any
---@return any key
---@return any value
function M.next(list, key)
  check(list, "next")
  local integer = key == nil and 0 or math_type(key) == "integer" and key >= 1 and key
  local value = integer and rawget(list, integer + 1)
  if integer and value ~= nil then
    return integer + 1, value
  elseif key == nil then
    if next(list) == nil then
      return nil
    end
    orders[list] = nil
    local first = first_of(list)
    return first, rawget(list, first)
  end
  local order, at = following(list, key)
  repeat
    at = at + 1
    value = rawget(list, order.keys[at])
  until value ~= nil or at > #order.keys
  return order.keys[at], value
end

return M
