-- declared.lua: whether a record says nothing but what its type declares (lua/skillrt/run/record/<type>.lua).
--
-- declared(record) raises where it does not, and gives the record. Used by all that reads journals in tests.
local record_of = require "skillrt.run.record"

return function(record)
  local problem = record_of.problem_of(record)
  return not problem and record or error(problem, 0)
end
