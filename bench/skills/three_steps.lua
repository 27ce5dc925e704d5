-- three_steps.lua: the smallest durable run: one action, three times.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "three-steps",
  mode = "autonomous",
  state = { n = 0 },
  actions = {
    { id = "count", when = "n < 3", max_runs = 3, run = function(state) return { n = state.n + 1 } end },
  },
}
