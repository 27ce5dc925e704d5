-- choice_spec.lua: which agent a prompt of a workflow, a step and a person's settings mean, and what is said where none
-- is meant.
local choice = require "skillrt.agent.choice"

local function skill_with(agents)
  return { dir = ".", agents = agents }
end

describe("the agent of a prompt", function()
  local one = { kind = "claude" }

  it("is the definition that is given, the declared one of that name, or the only one that is declared", function()
    assert.equal("codex", assert(choice.of_prompt(skill_with {}, { kind = "codex" })).kind)
    assert.equal(one, choice.of_prompt(skill_with { a = one, b = {} }, "a"))
    assert.equal(one, choice.of_prompt(skill_with { a = one }))
    assert.equal(one, choice.of_prompt(skill_with { a = {}, default = one }))
    assert.equal(one, choice.of_prompt(skill_with { a = one, b = {} }, nil, "a"))
    assert.equal("codex", assert(choice.of_prompt(skill_with { a = one }, "codex")).kind)
  end)

  it("is none, and it is said what to do, where several are declared, none is, or the name is unknown", function()
    local function why(agents, given, agent_type)
      return select(2, choice.of_prompt(skill_with(agents), given, agent_type))
    end
    assert.equal("say which agent: a, b", why { b = one, a = one })
    assert.matches("no agent is declared: agents = { default = skillrt.chosen_agent() }", why {}, 1, true)
    assert.equal('agent "nodbody" is not declared (did you mean "nobody"?)', why({ nobody = one }, "nodbody"))
    assert.matches('agent: field "kind" is "nope" (there are: anthropic,', why({}, { kind = "nope" }), 1, true)
    assert.matches('agentType "Exlpore": no agent of that name (did you mean "Explore"?)', why({ a = one }, nil, "Exlpore"),
      1, true)
  end)
end)

describe("a word for an agent", function()
  it("is a kind, a kind with a model, or several of them", function()
    assert.same({ "claude" }, { choice.word "claude" })
    assert.same({ "anthropic", "some:model" }, { choice.word "anthropic:some:model" })
    assert.equal("chain", choice.word "claude,codex")
    assert.is_nil(choice.word "claude,nobody")
    assert.is_nil(choice.word "nobody:x")
    assert.is_nil(choice.word "skill") -- a kind that needs more than a word
  end)

  it("becomes a definition", function()
    assert.same({ kind = "codex", model = "m", env = { "A" } }, choice.of("codex:m", { "A" }))
    assert.same({ kind = "openai", model = "m" }, choice.of("openai:m", { "A" })) -- no program
    assert.same({ kind = "chain", links = { { kind = "claude" }, { kind = "codex" } }, on = { "rate_limit" } },
      choice.of "claude,codex")
    assert.same({ kind = "http", url = "http://h/p", name = "http://h/p" }, choice.of "http://h/p")
    assert.same({ kind = "command", argv = { "/x/run", "-a" }, stdin = "{prompt}", parse = "json", env = { A = true },
      name = "run", sandbox_default = "off" }, choice.of({ "/x/run", "-a" }, { "A" }))
    assert.same({ kind = "http", url = "x" }, choice.of { kind = "http", url = "x" })
  end)
end)

describe("the agent of a step", function()
  it("is the one given for its name, then for all, then of the document", function()
    local given = { { writer = { kind = "a" } }, { writer = { kind = "b" }, llm = { kind = "c" } } }
    assert.equal("a", choice.of_step({ "writer", "llm" }, given).kind)
    assert.equal("c", choice.of_step({ "reader", "llm" }, given).kind)
    assert.equal("d", choice.of_step({ "reader" }, { { ["*"] = { kind = "d" } } }, "codex").kind)
    assert.equal("codex", choice.of_step({ "reader" }, {}, "codex").kind)
  end)
end)
