-- ten.lua: ten steps of a function. Submitted as bench/others.mjs says.
local skillrt = require "skillrt"

return skillrt.skill { name = "steps", state = { n = 0 }, limits = { max_iterations = 20 }, actions = {
  { id = "step", when = "n < 10", max_runs = 10, run = function(state) return { n = state.n + 1 } end } } }
