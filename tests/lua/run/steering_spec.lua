-- steering_spec.lua: which agent of a run a person means, and what is said where none is meant, or it cannot be told.
local steering = require "skillrt.run.steering"

describe("an agent that is steered in a run that no process advances", function()
  local books = { steps = {
    { number = 3, calls = { ["1"] = { label = "look", converses = true, to = "claude" }, ["2.1"] = { label = "look", to = "cat" } } },
    { number = 12, calls = { ["1"] = { label = "tell", to = "cat" }, ["2"] = { to = "curl" } } },
  } }

  local function said(agent, steer)
    return steering.problem(books, { agent = agent, steer = steer or "skip" })
  end

  it("is meant by its label, or by its call where several have one", function()
    assert.is_nil(said "tell")
    assert.is_nil(said "2.1")
    assert.equal('2 agents are called "look"; name one by its call: 3/1, 3/2.1', said "look")
    assert.equal('2 agents are called "1"; name one by its call: 12/1, 3/1', said "1")
    assert.is_nil(said "12/1")
    assert.equal('no agent "2" can be steered now; there are: look, tell', said "2") -- it has no label
    assert.equal('no agent "x" can be steered now; there are none', steering.problem({ steps = {} }, { agent = "x" }))
  end)

  it("takes a further message only where it holds a conversation", function()
    assert.equal("tell cannot be told more: cat is asked once, and holds no conversation", said("tell", "tell"))
    assert.equal("look cannot be told more: cat is asked once, and holds no conversation", said("3/2.1", "tell"))
    assert.is_nil(said("3/1", "tell"))
  end)
end)
