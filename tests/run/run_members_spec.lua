-- run_members_spec.lua: parallel steps that each add a member to one object of the state: their time grows with their
-- number, and not with its square.
local R = require "tests.support.runs"

-- The time that a processor takes for so many.
local function taken(count)
  local actions = {}
  for i = 1, count do
    actions[i] = { id = "a" .. i, run = R.sets { all = { ["k" .. i] = i } } }
  end
  local began = os.clock()
  local result = assert(R.run({ state = { all = {} }, actions = actions, context = "memory",
    limits = { max_parallel = count, max_iterations = count + 1 },
    strategy = { concurrent = true, select = function(_, available)
      local ids = {}
      for i, one in ipairs(available) do ids[i] = one.id end
      return ids
    end } }))
  assert.same({ "completed", count }, { result.status, result.state.all["k" .. count] }, result.message)
  return os.clock() - began
end

describe("10,000 parallel steps that each add a member to one object", function()
  after_each(R.clean)

  it("take four times as long as 2,500, not sixteen times", function()
    local best, rounds = math.huge, 0
    repeat -- the machine may be busy
      local few, half, all = taken(2500), taken(5000), taken(10000)
      best, rounds = math.min(best, math.max(all / few / 4, half / few / 2, all / half / 2)), rounds + 1
    until best < 1.7 or rounds == 3
    assert.is_true(best < 1.7, best)
  end)
end)
