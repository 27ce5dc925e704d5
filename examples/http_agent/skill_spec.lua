-- skill_spec.lua: the tests of this skill: no agent runs, and no time is waited for.
--
--   skillrt test examples/http_agent/skill.lua

local test = require "skillrt.test"

local AGENT = { agent = "http://agent.invalid/task" }

describe("write-a-paragraph", function()
  it("writes, revises once, and publishes", function()
    local run = test.run { input = AGENT, agents = { writer = {
      { stateUpdates = { draft = "Journals are long.", revision = 1 } },
      { stateUpdates = { draft = "Journals are kept.", revision = 2 } },
      { stateUpdates = { approved = true } },
    } } }
    assert.equal("completed", run.status)
    assert.same({ "draft", "review", "review", "publish" }, run.steps)
    assert.equal("Journals are kept.\n", run:read "paragraph.md")
    assert.matches("Journals are long.", run.calls[2].prompt, 1, true)
  end)

  it("waits where the server is busy, and publishes nothing without a draft", function()
    local run = test.run { input = AGENT, agents = { writer = {
      test.status(429, { retry_after = 60 }),
      { stateUpdates = { draft = "A draft.", revision = 1 } },
      { stateUpdates = { approved = true } },
    } } }
    assert.same({ "draft", "review", "publish" }, run.steps)
    assert.is_true(run.elapsed >= 60)
    local none = test.run { input = AGENT, agents = { writer = test.status(404) } }
    assert.equal("failed", none.status)
    assert.is_nil(none:read "paragraph.md")
  end)

  it("asks a person whether to send again what may have arrived when the process was killed", function()
    local run = test.run { input = AGENT, answers = { ["Send it again"] = "retry" }, agents = { writer = {
      test.crash(),
      { stateUpdates = { draft = "A draft.", revision = 1 } },
      { stateUpdates = { approved = true } },
    } } }
    assert.equal(1, run.crashes)
    assert.equal("completed", run.status)
    assert.equal("retry", run.questions[1].answer)
  end)
end)
