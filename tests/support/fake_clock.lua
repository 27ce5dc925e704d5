-- fake_clock.lua: the clocks of runs, set by a test (skillrt.base.fake_clock), and the times of files. To be required
-- before anything of skillrt is.
local core = require "skillrt.core"

local M = require "skillrt.base.fake_clock"

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
