-- skill_spec.lua: the tests of this skill: no agent, no compiler, no test program runs.
--
--   skillrt test examples/unit_tests/skill.lua

local test = require "skillrt.test"

local function compiler(...)
  return { env = { ... }, test_words = "" }
end

local BAD = test.exit(1, "", "test_words.c:3:1: error: no such thing")

describe("unit-tests", function()
  it("repairs what does not compile, and reads what is wrong", function()
    local run = test.run { agents = { writer = { summary = "done" } }, programs = compiler(BAD, "") }
    assert.equal("completed", run.status)
    assert.same({ "analysis", "generation", "verification", "repair", "verification", "done" }, run.steps)
    assert.equal("repair", run.calls[4].id)
    assert.matches("error: no such thing", run.calls[4].prompt, 1, true)
  end)

  it("gives up at its limit of repairs", function()
    local run = test.run { agents = { writer = { summary = "done" } }, programs = { env = BAD }, input = { retries = 1 } }
    assert.equal("failed", run.status)
    assert.equal(3, run:asked "writer")
    assert.equal("given-up", run.steps[#run.steps])
  end)
end)
