-- run/numbers.lua: the engine knows numbers only; here stands what each of them means while it is under
-- way: a call, or a step to be performed. Pure.

local single = require("skillrt.base.single")

---@class skillrt.Numbers
local Numbers = {}

---@return skillrt.Numbers
function Numbers.new()
  return single.of(Numbers, { last = 0, under_way = {} })
end

---@param what table  a call, or a step
---@return integer
function Numbers:next(what)
  local number = self.last + 1
  self.last, self.under_way[number] = number, what
  return number
end

---@param number integer
---@return table|nil
function Numbers:of(number)
  return self.under_way[number]
end

---The call of a session that waits for the answer with this id.
---@param session string
---@param id any
---@return skillrt.Call|nil
function Numbers:waiting(session, id)
  for _, what in pairs(self.under_way) do
    local request = what.place and what.request
    if request and request.session == session and request.id == id then
      return what
    end
  end
end

---Takes out of a list what is not known any more.
---@param numbers integer[]
function Numbers:sift(numbers)
  local kept = 0
  for i = 1, #numbers do
    local number = numbers[i]
    numbers[i] = nil
    if self.under_way[number] then
      kept = kept + 1
      numbers[kept] = number
    end
  end
end

---It is over, or was never handed over.
---@param number integer
function Numbers:forget(number)
  self.under_way[number] = nil
end

return Numbers
