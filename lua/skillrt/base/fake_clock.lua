-- base/fake_clock.lua: the clocks of runs, set by tests: time passes when a test says so, and at once.
--
-- Replaces the core's clocks, so it must be required before any module that reads them: `skillrt test`, `skillrt
-- replay` and specs require it first. Knows no runs.

local core = require("skillrt.core")

local M = {
  now = 1800000000000, -- UTC ms
  mono = 1000000, -- ms of the clock that never goes back
  real_ns = core.mono_ns, -- the clock that goes by itself
}

function core.wall_ms()
  return M.now
end

function core.mono_ns()
  return M.mono * 1000000
end

function core.mono_ms()
  return M.mono
end

---Lets time pass.
---@param seconds number
function M.pass(seconds)
  local ms = math.floor(seconds * 1000 + 0.5)
  M.now, M.mono = M.now + ms, M.mono + ms
end

---Sets the wall clock, as a person would.
---@param seconds number  by how many
function M.set(seconds)
  M.now = M.now + math.floor(seconds * 1000)
end

return M
