-- three_steps_process.lua: the same as three_steps.lua, durable against kill -9 only.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "three-steps",
  mode = "autonomous",
  durability = "process",
  state = { n = 0 },
  actions = {
    { id = "count", when = "n < 3", max_runs = 3, run = function(state) return { n = state.n + 1 } end },
  },
}
