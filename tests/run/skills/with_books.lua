-- The skill in the file named by CRASH_SKILL, in a run that writes all its books as a record again
-- and again: behind every CRASH_BOOKS bytes of other records (1: before each step), where else
-- only a long run does. The C library and `skillrt resume` have no option for that.
local journal = require "skillrt.run.journal"

local new, bytes = journal.new, assert(math.tointeger(os.getenv "CRASH_BOOKS"))
function journal.new(run)
  local self = new(run)
  self.interval, self.times = bytes, 0
  return self
end

return dofile(assert(os.getenv "CRASH_SKILL"))
