-- run/steady.lua: times of the clock that waits count on inside a process (core.mono_ms), which no user sets.
--
-- What is recorded are times of the wall clock, as another process continues with them; each is turned into one of
-- this clock when it is put among what is due. Knows no waits and no limits.

local core = require("skillrt.core")

local mono_ns, mono_ms, wall_ms = core.mono_ns, core.mono_ms, core.wall_ms

local M = {}

-- How often an instant of the wall clock is looked at anew: somebody may have set it.
local LOOK_MS <const> = 60 * 1000

-- What the two clocks differ by is asked for once, so that times a millisecond apart keep their order; and again
-- where somebody has set the wall clock: a difference that small is none but between two looks at a clock. It is
-- rounded up, so that no wait is a millisecond short by the clock that people look at.
local SET_MS <const> = 100
local difference

local function of_wall(utc)
  local fresh = -((wall_ms() * 1000000 - mono_ns()) // 1000000)
  if not difference or math.abs(fresh - difference) > SET_MS then
    difference = fresh
  end
  return utc + difference
end

---When a recorded time comes; it is never longer away than `most` ms.
---@param run skillrt.Run  shift: ms by which the wall clock was put back since a host put the run into its books
---@param utc integer  UTC ms
---@param most integer|nil
---@return integer at  of this clock
function M.at(run, utc, most)
  local at = of_wall(utc) - (run.shift or 0)
  return most and math.min(at, mono_ms() + most) or at
end

---When an instant is to be looked at: it is of the wall clock, whatever becomes of that.
---@param utc integer  UTC ms
---@return integer at  of this clock
function M.look(utc)
  return math.min(of_wall(utc), mono_ms() + LOOK_MS)
end

---The time of the wall clock that this one of ours is, as the wall clock goes now.
---@param at integer
---@return integer utc  ms
function M.utc(at)
  return wall_ms() + at - mono_ms()
end

return M
