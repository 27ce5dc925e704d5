-- tally_spec.lua: whose price counts for what a model used.
local function fresh(prices)
  local before, mine = package.loaded["skillrt.agent.person"], package.loaded["skillrt.agent.tally"]
  package.loaded["skillrt.agent.person"] = { read = function() return { prices = prices } end }
  package.loaded["skillrt.agent.tally"] = nil
  local used = require "skillrt.agent.tally"
  return used, function()
    package.loaded["skillrt.agent.person"], package.loaded["skillrt.agent.tally"] = before, mine
  end
end

describe("the most that an agent may use", function()
  local agents = require "skillrt.agent"

  it("is its calls with all their tokens; of a chain that of all its members, unknown where one's is", function()
    local one = agents.openai { model = "m", max_turns = 3, max_tokens = 100, prices = { m = { input = 1, output = 2e4 } } }
    local other = agents.openai { model = "n", max_turns = 1, max_tokens = 50, prices = { n = { input = 1, output = 1e5 } } }
    assert.same({ calls = 3, tokens = 300, dollars = 6 }, agents.cost(one, {}))
    assert.same({ calls = 4, tokens = 350, dollars = 11 }, agents.cost(agents.chain { one, other }, {}))
    assert.is_nil(agents.cost(agents.chain { one, agents.host { call = "f" } }, {}))
    assert.same({ 3, nil }, { agents.cost("one", { one = one }).calls, agents.cost("none", {}) })
  end)
end)

describe("a price", function()
  local MILLION = { input = 1e6, output = 0 }

  it("is the agent's, else the person's, else ours, else not known", function()
    local used, restore = fresh { mine = { input = 7, output = 7 }, ["claude-haiku-4-5"] = { input = 2, output = 2 } }
    local agents = { ["claude-haiku-4-5"] = { input = 3, output = 3 } }
    assert.equal(3, used.counted(MILLION, "claude-haiku-4-5", agents).dollars)
    assert.equal(2, used.counted(MILLION, "claude-haiku-4-5").dollars)
    assert.equal(7, used.counted(MILLION, "mine", agents).dollars)
    assert.equal(require("skillrt.agent.prices").OURS["gpt-5"].input, used.counted(MILLION, "gpt-5").dollars)
    assert.is_nil(used.counted(MILLION, "nobodys").dollars)
    restore()
  end)

  it("of a person that is none is told where it stands", function()
    local kit = require "tests.support.cli_kit"
    local folder <close> = kit.folder()
    os.execute(("mkdir -p %s/config/skillrt"):format(folder.path))
    folder.file("config/skillrt/config.json", '{ "agent": "claude", "prices": { "mine": { "input": "x" } } }')
    local run = kit.run(folder, { "agents", env = ("-u SKILLRT_AGENT XDG_CONFIG_HOME=%s/config"):format(folder.path) })
    assert.truthy((run.out .. run.err):find("skillrt/config.json: prices of \"mine\": must have input and output", 1, true),
      run.out .. run.err)
  end)
end)
