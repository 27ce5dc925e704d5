-- step.lua: what a step costs that a plain function performs, in memory and quiet, by instructions of the processor: a
-- clock says little where others share it.

local FEW <const>, MANY <const>, ROUNDS <const> = 500, 2500, 5

return function(measure)
  local function all(steps)
    return measure.instructions(measure.build .. "/skillrt bench/skills/steps.lua --quiet",
      ("BENCH_STEPS=%d BENCH_CONTEXT=memory"):format(steps))
  end

  local steps = {}
  for i = 1, ROUNDS do -- Lua's hashes differ from run to run
    steps[i] = (all(MANY) - all(FEW)) / (MANY - FEW)
  end
  local median = measure.median(steps)
  return {
    measure.finding("a step in memory, quiet", median, "<=", 100000, ("%.0f"):format(median), "instructions"),
  }
end
