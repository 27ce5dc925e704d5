-- run_open_steps_spec.lua: many steps under way while many fields change: what is kept of the books stays small.
local R = require "tests.support.runs"

local MANY <const> = 700

describe("many steps under way that each change a field of their own", function()
  after_each(R.clean)

  it("make no record that holds each change for each step; a resume goes on without one", function()
    local state, actions = {}, {}
    for i = 1, MANY do
      state["key" .. i] = i
      actions[i] = { id = "a" .. i, run = function(_, ctx)
        ctx.sleep(0.001)
        return { ["key" .. i] = -i }
      end }
    end
    local definition = { state = state, actions = actions, limits = { max_parallel = MANY, max_iterations = MANY + 1 },
      strategy = { concurrent = true, select = function(_, available)
        local ids = {}
        for i, one in ipairs(available) do ids[i] = one.id end
        return ids
      end } }
    local dir = R.folder() .. "/run"
    local result = R.run(definition, { work_dir = dir, books_bytes = 30000 })
    assert.equal("completed", result.status)
    local longest = 0
    for line in assert(io.lines(dir .. "/journal/00000001.sj")) do
      longest = math.max(longest, #line)
    end
    assert.is_true(longest < 1000000, longest)
    local copy = dir .. ".cut"
    R.cut(dir, copy, #R.records(dir) - MANY // 2)
    local again = assert(require "skillrt".resume(copy, { skill = R.skill(definition) }))
    assert.same({ "completed", -MANY }, { again.status, again.state["key" .. MANY] })
  end)
end)
