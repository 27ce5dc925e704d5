-- fake_clock.lua: the clocks of runs, set by a test. To be required before anything of skillrt is.
local core = require "skillrt.core"

local M = { now = 1800000000000, mono = 1000000 } -- UTC ms; ms of the clock that nobody puts back

function core.wall_ms()
  return M.now
end

function core.mono_ns()
  return M.mono * 1000000
end

---Time goes by.
function M.pass(seconds)
  local ms = math.floor(seconds * 1000)
  M.now, M.mono = M.now + ms, M.mono + ms
end

---Somebody sets the wall clock.
function M.set(seconds)
  M.now = M.now + math.floor(seconds * 1000)
end

local stamped, stat = {}, core.files.stat

function core.files.stat(path, ...)
  local info, message, code = stat(path, ...)
  if info and stamped[path] then
    info.mtime_ns = stamped[path] * 1000000
  end
  return info, message, code
end

---Gives a file the time of this clock, for who asks core.files.stat.
function M.stamp(path)
  stamped[path] = M.now
end

return M
