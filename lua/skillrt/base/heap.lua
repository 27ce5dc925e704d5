-- base/heap.lua: a binary heap: the item with the smallest number first; of equals the one put in last.
--
-- Values; knows nothing of who uses it.

local M = {}

---@class skillrt.Heap
---@field count integer
local Heap = {}
Heap.__index = Heap

---@return skillrt.Heap
function M.new()
  return setmetatable({ count = 0, items = {}, keys = {}, ties = {} }, Heap)
end

local function before(self, a, b)
  local keys, ties = self.keys, self.ties
  return keys[a] < keys[b] or keys[a] == keys[b] and ties[a] > ties[b]
end

local function swap(self, a, b)
  local items, keys, ties = self.items, self.keys, self.ties
  items[a], items[b], keys[a], keys[b], ties[a], ties[b] = items[b], items[a], keys[b], keys[a], ties[b], ties[a]
end

---@param item any
---@param key number
---@param tie number  of equal keys the larger one comes first
function Heap:push(item, key, tie)
  local at = self.count + 1
  self.count, self.items[at], self.keys[at], self.ties[at] = at, item, key, tie
  while at > 1 and before(self, at, at // 2) do
    swap(self, at, at // 2)
    at = at // 2
  end
end

---@return any item  nil: it is empty
function Heap:pop()
  local count, item = self.count, self.items[1]
  if count == 0 then
    return nil
  end
  swap(self, 1, count)
  self.items[count], self.keys[count], self.ties[count] = nil, nil, nil
  self.count = count - 1
  local at = 1
  while true do
    local child = 2 * at
    if child > self.count then
      return item
    elseif child < self.count and before(self, child + 1, child) then
      child = child + 1
    end
    if not before(self, child, at) then
      return item
    end
    swap(self, at, child)
    at = child
  end
end

return M
