-- limits.lua: what it costs a step that everything is limited, beside a step of the same skill without limits;
-- in memory, by instructions: a share of 1% is too small for a clock.

local FEW <const>, MANY <const>, ROUNDS <const> = 200, 1200, 5

return function(measure)
  -- instructions of one step
  local function step(limits)
    local function all(steps)
      return measure.instructions(measure.build .. "/skillrt bench/skills/steps.lua --quiet",
        ("BENCH_STEPS=%d BENCH_CONTEXT=memory %s"):format(steps, limits))
    end
    return (all(MANY) - all(FEW)) / (MANY - FEW)
  end

  -- Lua's hashes differ from run to run, by some tenths of a percent
  local with, without = {}, {}
  for i = 1, ROUNDS do
    with[i], without[i] = step "BENCH_LIMITS=1", step ""
  end
  with, without = measure.median(with), measure.median(without)
  return {
    measure.finding("a step of which all is limited against one without limits, instructions", with / without,
      "<=", 1.01, ("%.0f beside %.0f"):format(with, without)),
  }
end
