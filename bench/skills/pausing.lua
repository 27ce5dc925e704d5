-- pausing.lua: BENCH_STEPS steps, after which the run is blocked: something that can be resumed.
local skillrt = require "skillrt"
local steps = math.tointeger(tonumber(os.getenv "BENCH_STEPS" or 100))

return skillrt.skill {
  name = "pausing",
  mode = "autonomous",
  state = { n = 0, last = "" },
  actions = {
    {
      id = "count",
      when = ("n < %d"):format(steps),
      max_runs = steps,
      run = function(state) return { n = state.n + 1, last = ("step %d is over"):format(state.n + 1) } end,
    },
    { id = "never", when = "n < 0", run = function() end },
  },
  durability = "process",
  limits = { max_iterations = steps + 10 },
}
