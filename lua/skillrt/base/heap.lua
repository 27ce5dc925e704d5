-- base/heap.lua: a binary heap: the smallest number (a time, a cost) first; of equals the one with the smaller order,
-- by default the one added first.

---@class skillrt.Heap
---@field count integer
local Heap = {}
Heap.__index = Heap

---@return skillrt.Heap
function Heap.new()
  return setmetatable({ count = 0, puts = 0 }, Heap)
end

local function before(a, b)
  return a.at < b.at or (a.at == b.at and a.order < b.order)
end

---@param at number
---@param what any
---@param order? number
function Heap:put(at, what, order)
  self.puts = self.puts + 1
  local item, place = { at = at, order = order or self.puts, what = what }, self.count + 1
  self.count = place
  while place > 1 and before(item, self[place // 2]) do
    self[place], place = self[place // 2], place // 2
  end
  self[place] = item
end

---Removes the first item.
---@return any  nil: it is empty
function Heap:take()
  local first, last, count = self[1], self[self.count], self.count - 1
  if not first then
    return nil
  end
  self[count + 1], self.count = nil, count
  local place = 1
  while count > 0 do
    local child = 2 * place
    if child > count then
      break
    end
    if child < count and before(self[child + 1], self[child]) then
      child = child + 1
    end
    if not before(self[child], last) then
      break
    end
    self[place], place = self[child], child
  end
  if count > 0 then
    self[place] = last
  end
  return first.what
end

---Removes an item, if it is still there.
---@param what any
function Heap:drop(what)
  local place = 1
  while place <= self.count and self[place].what ~= what do
    place = place + 1
  end
  if place > self.count then
    return
  end
  while place > 1 do -- those above it move down, and it is removed as the first
    self[place], place = self[place // 2], place // 2
  end
  self[1] = { what = what }
  self:take()
end

return Heap
