-- 200 quick steps, each of which leaves a number that no other leaves.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "crash-count",
  mode = "autonomous",
  durability = os.getenv "CRASH_DURABILITY",
  state = { n = 0 },
  limits = { max_iterations = 1000 },
  actions = {
    { id = "count", when = "n < 200", max_runs = 200,
      run = function(state, ctx)
        ctx.context.set("mark", ctx.uuid())
        return { n = state.n + 1 }
      end },
  },
}
