-- run/steady.lua: times of the monotonic clock (core.mono_ms), by which waits inside a process are measured: no user
-- sets it.
--
-- Recorded times are those of the wall clock, as another process continues with them; each is converted when it is
-- added to what is due. Knows no waits and no limits.

local core = require("skillrt.core")

local mono_ns, mono_ms, wall_ms = core.mono_ns, core.mono_ms, core.wall_ms

local M = {}

-- How often a wall-clock time is checked again, as somebody may have set the clock.
local LOOK_MS <const> = 60 * 1000

-- The difference of the two clocks is cached, so that times a millisecond apart keep their order, and read again only
-- if somebody set the wall clock: a very small change only comes from reading the clocks one after the other. It is
-- rounded up, so that no wait ends a millisecond early by the wall clock.
local SET_MS <const> = 100
local difference

local function of_wall(utc)
  local fresh = -((wall_ms() * 1000000 - mono_ns()) // 1000000)
  if not difference or math.abs(fresh - difference) > SET_MS then
    difference = fresh
  end
  return utc + difference
end

---When a recorded time comes; never more than `most` ms away.
---@param run skillrt.Run  shift: ms by which the wall clock was set back since a host parked (unloaded) the run
---@param utc integer  UTC ms
---@param most integer|nil
---@return integer at  of this clock
function M.at(run, utc, most)
  local at = of_wall(utc) - (run.shift or 0)
  return most and math.min(at, mono_ms() + most) or at
end

---When to check a wall-clock time, whatever happens to that clock.
---@param utc integer  UTC ms
---@return integer at  of this clock
function M.look(utc)
  return math.min(of_wall(utc), mono_ms() + LOOK_MS)
end

---The present wall-clock equivalent of one of our times.
---@param at integer
---@return integer utc  ms
function M.utc(at)
  return wall_ms() + at - mono_ms()
end

return M
