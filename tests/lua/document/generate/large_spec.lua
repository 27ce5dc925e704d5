-- generate_large_spec.lua: a config of 10,000 actions becomes 10,000 documents, soon.
local generate = require "skillrt.document.generate"

describe("a config of 10,000 actions", function()
  it("is generated, with its graph and tables, in bounded time", function()
    local actions = {}
    for i = 1, 10000 do
      local needs = ("completed_actions.includes('a%d')"):format(i - 1)
      actions[i] = { id = "a" .. i, name = "A" .. i, preconditions = i > 1 and { needs } or nil, priority = i % 7 }
    end
    local started = os.clock()
    local files = assert(generate.generate({
      skill_name = "large-skill",
      description = "Many actions",
      execution_mode = "autonomous",
      autonomous_config = { actions = actions },
    }, { templates = "templates" }))
    assert.equal(10007, #files)
    assert.is_true(os.clock() - started < 30)
  end)
end)
