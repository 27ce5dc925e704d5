-- agent_guide_spec.lua: docs/write/agents.md and docs/inside/extend.md are true: its example is an agent, its words are those of the code.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local fake = require "tests.support.fake_ctx"
local pages = require "tests.support.pages"

local page = pages.read "docs/write/agents.md" .. pages.read "docs/inside/extend.md"

local function example()
  for _, block in ipairs(pages.blocks(page)) do
    local kind = block.info:match "^lua file (%l+)%.lua$"
    if kind then
      return kind, block.text
    end
  end
end

describe("the pages about agents", function()
  local kind, text = example()

  setup(function()
    package.preload["skillrt.agent.kind." .. kind] = assert(load(text, "=docs/inside/extend.md"))
    agent.KINDS[kind] = true
  end)
  teardown(function()
    package.preload["skillrt.agent.kind." .. kind], package.loaded["skillrt.agent.kind." .. kind] = nil, nil
    agent.KINDS[kind] = nil
  end)

  it("shows how an agent is added: one file", function()
    local one = assert(agent.check({ kind = kind, program = "delphi" }, "agent"))
    assert.is_true(agent.is(one))
    local outcome, _, _, ctx = fake.perform(one, { "yes\n" }, { prompt = "Is it?" })
    assert.same({ status = "completed", updates = { answer = "yes\n" } }, outcome)
    assert.same({ { "delphi" }, "Is it?" }, { ctx.asked[1].argv, ctx.asked[1].stdin })
    local _, message, class = fake.perform(one, { '{"error":"no idea"}' })
    assert.same({ "agent oracle: the reply is an error: no idea", "permanent" }, { message, class })
    local none, why = agent.check({ kind = kind, programme = "delphi" }, "agent")
    assert.same({ nil, 'agent: unknown field "programme" (did you mean "program"?)' }, { none, why })
  end)

  it("may be a member of a chain, and be performed by a skill", function()
    local chain = agent.chain { { kind = kind, program = "one" }, { kind = kind, program = "two" } }
    local outcome, _, _, ctx = fake.perform(chain, { { code = 1 }, "yes" })
    assert.same({ answer = "yes" }, outcome.updates)
    assert.equal(2, #ctx.asked)
    local skill = require("skillrt.skill").check {
      name = "s", actions = { { id = "a", agent = { kind = kind, program = "delphi" } } },
    }
    assert.is_true(skill.actions[1].idempotent)
    assert.equal('agent "a.agent"', skill.agents["a.agent"]:label())
  end)

  it("is known to all that ask the kinds: tests, simulations, its file alone says what it is", function()
    local one = assert(agent.check({ kind = kind, program = "delphi" }, "agent"))
    assert.equal("stub", require("skillrt.test.stub").of("who", one, false).kind)
    assert.same({ calls = 2, tokens = 0, dollars = 0 }, agent.cost("who", { who = one }))
    agent.kind(kind).word = true
    assert.truthy((", " .. require("skillrt.cli.agent").words() .. ", "):find(", oracle, ", 1, true))
    assert.same({ kind = "oracle", model = "large" }, require("skillrt.agent.choice").of("oracle:large"))
  end)

  it("names all that a kind has", function()
    for name in pairs(agent.KINDS) do
      local module = agent.kind(name)
      for _, part in ipairs { "FIELDS", "check", "perform", "needs_http", "reads_prompt", "label", "cost", "SPANS" } do
        assert.truthy(module[part], name .. " has no " .. part)
        assert.truthy(page:find("\n| `" .. part .. "[`(]"), "docs/inside/extend.md: says nothing of " .. part)
      end
    end
  end)

  it("names the words and classes of an answer", function()
    local function outcome_of(status)
      return (fake.perform(agent.http { url = "http://x/" }, { ('{"status":"%s","stateUpdates":{}}'):format(status) }))
    end
    local list = page:match "The status decides: (.-) complete,"
    for word in list:gmatch "`([%l_]+)`" do
      assert.equal("completed", outcome_of(word).status)
    end
    assert.equal("partial", outcome_of("partial").status)
    local failing = page:match "word of the list above or (.-)%. Other"
    for word in failing:gmatch "`([%l_]+)`" do
      assert.is_nil(outcome_of(word))
      local one = agent.command { "x", parse = "json" }
      assert.is_nil((fake.perform(one, { ('{"status":"%s","n":1}'):format(word) })))
    end
  end)
end)
