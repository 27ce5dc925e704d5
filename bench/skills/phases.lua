-- phases.lua: BENCH_PHASES phases of a Lua function, parallel with BENCH_PARALLEL=1, each kept in the journal.
local skillrt = require "skillrt"

local count = math.tointeger(tonumber(os.getenv "BENCH_PHASES" or 100))
local phases = {}
for i = 1, count do
  phases[i] = { id = "phase-" .. i, parallel = os.getenv "BENCH_PARALLEL" == "1", run = function(_, ctx)
    if i > 1 and i % 100 == 0 then
      ctx.once("number", function() return i end)
    end
    return { number = i }
  end }
end

return skillrt.skill {
  name = "phases",
  mode = "sequential",
  durability = "process",
  phases = phases,
  limits = { max_parallel = count, max_iterations = count + 10 },
}
