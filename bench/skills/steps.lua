-- steps.lua: as many steps of a Lua function as asked for, among 50 actions, over a state of a
-- given size: what a step itself costs. bench/naive.lua does the same.
--
-- Ten parts of a work go round five stages each; every action reads the stage of its own part, so
-- of 50 conditions five read what a step changed, and 40 actions may be chosen at any time. With
-- BENCH_READS=all every condition reads the one counter that every step changes: the worst case.
-- By environment: BENCH_STEPS, BENCH_BYTES of state, BENCH_DURABILITY (power or process),
-- BENCH_CONTEXT (file or memory), BENCH_LIMITS (all of them).
local skillrt = require "skillrt"

local PARTS <const>, STAGES <const> = 10, 5

local function number(name, default)
  return math.tointeger(tonumber(os.getenv(name) or default))
end

local steps, bytes = number("BENCH_STEPS", 100), number("BENCH_BYTES", 1000)
local all = os.getenv "BENCH_READS" == "all"

local items = {}
for i = 1, bytes // 100 do
  items[i] = { id = i, name = "item number " .. i, note = ("x"):rep(50) }
end
local state = { step = 0, done = false, items = items }
for part = 1, PARTS do
  state["part_" .. part] = 0
end

local actions = {}
for i = 1, PARTS * STAGES do
  local key, stage = "part_" .. (i - 1) % PARTS + 1, (i - 1) // PARTS
  actions[i] = {
    id = "action-" .. i,
    priority = i % 7,
    when = all and ("step %% 50 + 1 !== %d"):format(i) or ("%s %% %d !== %d"):format(key, STAGES, stage),
    max_runs = steps + 1,
    run = function(s)
      local step = s.step + 1
      return { step = step, [key] = s[key] + 1, done = step >= steps or nil }
    end,
  }
end

local limits = { max_iterations = steps + 10 }
if os.getenv "BENCH_LIMITS" then -- all that can be limited, and none is reached
  limits = { max_iterations = steps + 10, max_errors = 1000, no_progress = 1000, run_timeout = 86400,
    step_timeout = 86400, calls = 1000000, usage = { tokens = 1e9, dollars = 1e6 } }
end

return skillrt.skill {
  name = "steps",
  mode = "autonomous",
  state = state,
  actions = actions,
  terminate = { "done" },
  context = os.getenv "BENCH_CONTEXT" or "file",
  durability = os.getenv "BENCH_DURABILITY" or "power",
  limits = limits,
}
