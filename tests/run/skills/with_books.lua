-- The skill in the file named by CRASH_SKILL, in a run that writes all its books as a record again
-- and again: behind every CRASH_BOOKS bytes of other records (1: before each step), where else
-- only a long run does. The C library and `skillrt resume` have no option for that.
local history = require "skillrt.run.snapshot"

local new, bytes = history.new, assert(math.tointeger(os.getenv "CRASH_BOOKS"))
function history.new(ledger)
  return new(ledger, bytes)
end

return dofile(assert(os.getenv "CRASH_SKILL"))
