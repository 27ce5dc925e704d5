-- generate_large_spec.lua: a config of 2,500 actions becomes 2,500 documents, soon.
local generate = require "skillrt.document.generate"

describe("a config of 2,500 actions", function()
  it("is generated, with its graph and tables, in bounded time", function()
    local actions = {}
    for i = 1, 2500 do
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
    assert.equal(2507, #files)
    assert.is_true(os.clock() - started < 6)
  end)
end)
