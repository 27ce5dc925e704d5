-- rock.lua: run from another folder, with nothing of the tree beside it: the installed module, or
-- the installed program, runs a skill to its end.
local skillrt = require "skillrt"

local skill = skillrt.skill {
  name = "count-to-three",
  mode = "autonomous",
  state = { n = 0 },
  actions = {
    { id = "count", when = "n < 3", max_runs = 3, run = function(state) return { n = state.n + 1 } end },
  },
}

local result = skill:run { work_dir = "counted" }
assert(result.status == "completed", ("counted: %s (%s)"):format(result.status, result.reason))
assert(result.state.n == 3, "counted: the state does not hold 3")
print("counted to " .. result.state.n)
