-- run/limits/clocks.lua: the limits of time of a run, its sub-runs and actions: which is over, and when the next one
-- will be.
--
-- Of each limit it keeps the open steps, the longest under way first, and of all limits one time each: what is
-- asked before every choice is the earliest of these, however many steps are open. How much is left says the limit's
-- file. Called by limits.lua.

local heap = require("skillrt.base.heap")
local steady = require("skillrt.run.steady")

---@class skillrt.Clocks
---@field books skillrt.Books  the run's
---@field due skillrt.Heap      limits, by times that are never later than they are over
local Clocks = {}
Clocks.__index = Clocks

---@param books skillrt.Books  the run's
---@return skillrt.Clocks
function Clocks.new(books)
  return setmetatable({ books = books, due = heap.new() }, Clocks)
end

---When a limit is over; nil: nothing is under way that it holds.
---@param one skillrt.Bound
---@return integer|nil at  of steady.lua
function Clocks:over_at(one)
  local books, all = one.books, self.books
  if one.ends then
    return (books == all or all.subs and all.subs[books.sub] == books) and one.ends or nil
  end
  local open = one.open
  while open[1] and all.steps[open[1].what.number] ~= open[1].what do
    open:take() -- it is over
  end
  return open[1] and open[1].at + one.limit.left_ms(one)
end

---A limit of a run begins, or what it holds has changed.
---@param one skillrt.Bound
function Clocks:set(one)
  local at = self:over_at(one)
  if at and not (one.alarm and one.alarm <= at) then -- one that is set too early is set anew at its time
    one.alarm = at
    self.due:put(at, one)
  end
end

---A step has begun, or goes on since the run was opened.
---@param one skillrt.Bound
---@param step skillrt.Step
function Clocks:began(one, step)
  one.open:put(steady.at(self, math.max(step.started_at, one.books.opened_at or 0)) - (step.ms or 0), step)
  self:set(one)
end

---The first limit that is over.
---@param now integer  of steady.lua
---@return skillrt.Bound|nil
function Clocks:late(now)
  local due = self.due
  local at = due:earliest()
  while at and at <= now do
    local one = due:take()
    if one.alarm == at then
      one.alarm = nil
      self:set(one)
      if one.alarm and one.alarm <= now then
        return one
      end
    end
    at = due:earliest()
  end
end

return Clocks
