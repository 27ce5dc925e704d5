-- run/due.lua: what has a time: the earliest first. A binary heap; pure.

---@class skillrt.Due
local Due = {}
Due.__index = Due

---@return skillrt.Due
function Due.new()
  return setmetatable({ count = 0 }, Due)
end

-- Of two of the same time the one that was put in first comes first.
local function before(a, b)
  return a.at < b.at or (a.at == b.at and a.order < b.order)
end

---@param at integer  UTC ms
---@param what any
function Due:put(at, what)
  self.order = (self.order or 0) + 1
  local item, place = { at = at, order = self.order, what = what }, self.count + 1
  self.count = place
  while place > 1 and before(item, self[place // 2]) do
    self[place], place = self[place // 2], place // 2
  end
  self[place] = item
end

---The earliest time; nil: there is none.
---@return integer|nil
function Due:earliest()
  local first = self[1]
  return first and first.at
end

---Takes out the earliest.
---@return any
function Due:take()
  local first, last, count = self[1], self[self.count], self.count - 1
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

---Takes out something; it need not be there any more.
---@param what any
function Due:drop(what)
  local place = 1
  while place <= self.count and self[place].what ~= what do
    place = place + 1
  end
  if place > self.count then
    return
  end
  while place > 1 do -- those above it go down, and it is taken as if it were the earliest
    self[place], place = self[place // 2], place // 2
  end
  self[1] = { what = what }
  self:take()
end

return Due
