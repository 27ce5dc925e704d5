-- run/limits/room.lua: room for calls within limits: what is reserved for those that are under way, so that calls
-- side by side cannot overshoot together.
--
-- Part of limits.lua, whose methods these are. The books say what is spent.

local repeats = require("skillrt.mode.repeats")

local M = {}

---What of a limit is used up, in its unit.
---@param one skillrt.Bound
---@return number
function M.spent(one)
  local spent = one.books.spent
  if one.id then
    spent = one.books.spent_by[one.id]
  end
  return spent and spent[one.key] or 0
end

-- What a call takes of a limit, as far as it is known before it leaves.
local function asked(one, call)
  if not one.what then
    return 1
  end
  local usage = call.request.usage
  return usage and usage[one.what] or 0
end

-- Whether there is room for a call; where there is none for ever, the bound.
local function room(bounds, call)
  local free = true
  for i = 1, #bounds do
    local one = bounds[i]
    local spent, asks = M.spent(one), asked(one, call)
    local reserved = spent + one.reserved
    if spent >= one.most or spent + asks > one.most then
      return false, one
    elseif reserved >= one.most or reserved + asks > one.most then
      free = false -- it may be there when others used less than they could
    end
  end
  return free
end

---@class skillrt.Reservation  what is reserved for a call that is under way
---@field call skillrt.Call
---@field bounds skillrt.Bound[]
---@field is_counted boolean  it was sent: the books count it

-- Reserves what a call takes of some bounds (1), or gives it back (-1).
local function reserve(reservation, sign, is_meant)
  local bounds = reservation.bounds
  for i = 1, #bounds do
    local one = bounds[i]
    if is_meant(one) then
      one.reserved = one.reserved + sign * asked(one, reservation.call)
    end
  end
end

local function always()
  return true
end

local function is_count(one)
  return not one.what
end

local function is_usage(one)
  return one.what
end

---What bounds the calls of a step: its action's limits, those of its run or sub-run, and all above.
---@param step skillrt.Step
---@return skillrt.Bound[]
function M:bounds_for(step)
  local limits = step.home and step.home.run.limits or self
  return limits.by_id[step.id] or limits.of_run
end

---The bounds of a call; nil: nothing bounds it.
---@param call skillrt.Call
---@return skillrt.Bound[]|nil
function M:bounds_of(call)
  local bounds = self:bounds_for(call.step)
  if bounds[1] and repeats.ACTS[call.kind] and not call.request.pure then
    return bounds
  end
end

---Whether a call may be sent now; then what it may use is reserved for it. Where it may not be sent at all any
---more, `hit` says so.
---@param call skillrt.Call
---@return boolean
---@return skillrt.Reservation|nil
function M:admit(call)
  local bounds = self:bounds_of(call)
  if not bounds then
    return true
  end
  local free, one = room(bounds, call)
  if one then
    self.hit = self.hit or { bound = one, call = call }
  elseif free then
    local reservation = { call = call, bounds = bounds, is_counted = false }
    reserve(reservation, 1, always)
    return true, reservation
  end
  return free
end

---A call was sent: the books count it.
---@param reservation skillrt.Reservation|false
function M.sent(reservation)
  if reservation then
    reserve(reservation, -1, is_count)
    reservation.is_counted = true
  end
end

---A call is over: what was reserved for it is free once whoever awaited it has said what it used.
---@param reservation skillrt.Reservation
function M:over(reservation)
  self.releasing[#self.releasing + 1] = reservation
end

---Everybody has said what was used: what is reserved for calls that are over is free.
function M:release()
  for i, reservation in ipairs(self.releasing) do
    reserve(reservation, -1, reservation.is_counted and is_usage or always)
    self.releasing[i] = nil
  end
end
M.asked = asked

return M
