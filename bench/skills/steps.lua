-- steps.lua: as many steps of a Lua function as asked for, among 50 actions, over a state of a
-- given size: what a step itself costs. By environment: BENCH_STEPS, BENCH_BYTES of state,
-- BENCH_DURABILITY (power or process), BENCH_CONTEXT (file or memory).
local skillrt = require "skillrt"

local function number(name, default)
  return math.tointeger(tonumber(os.getenv(name) or default))
end

local steps, bytes = number("BENCH_STEPS", 100), number("BENCH_BYTES", 1000)
local items = {}
for i = 1, bytes // 100 do
  items[i] = { id = i, name = "item number " .. i, note = ("x"):rep(50) }
end

local actions = {}
for i = 1, 50 do
  actions[i] = {
    id = "action-" .. i,
    priority = i % 7,
    when = ("step %% 50 + 1 !== %d"):format(i),
    max_runs = steps + 1,
    run = function(state) return { step = state.step + 1, done = state.step + 1 >= steps } end,
  }
end

return skillrt.skill {
  name = "steps",
  mode = "autonomous",
  state = { step = 0, done = false, items = items },
  actions = actions,
  terminate = { "done" },
  context = os.getenv "BENCH_CONTEXT" or "file",
  durability = os.getenv "BENCH_DURABILITY" or "power",
  limits = { max_iterations = steps + 10 },
}
