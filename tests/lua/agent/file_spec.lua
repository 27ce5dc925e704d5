-- file_spec.lua: agents as people keep them in files, and what an agent that was chosen is under such a name.
require "tests.support.json_shim"
local agent = require "skillrt.agent"
local agent_file = require "skillrt.agent.file"
local fake = require "tests.support.fake_ctx"

local folder

local function put(name, text)
  os.execute(("mkdir -p '%s/agents'"):format(folder))
  local file <close> = assert(io.open(("%s/agents/%s.md"):format(folder, name), "w"))
  file:write(text)
end

describe("a chain", function()
  it("asks its next member for the classes that one names (F47)", function()
    local members = { agent.http { url = "http://a/" }, agent.http { url = "http://b/" }, on = { "rate_limit" } }
    local good = { body = '{"status":"completed","summary":"x"}' }
    local outcome, _, _, ctx = fake.perform(agent.chain(members), { { code = 429 }, good })
    assert.equal("x", outcome.summary)
    assert.equal(2, #ctx.asked)
    local none, message, class, other = fake.perform(agent.chain(members), { { code = 404 }, good })
    assert.is_nil(none)
    assert.equal("permanent", class, message)
    assert.equal(1, #other.asked)
    assert.has_error(function() agent.chain { agent.http { url = "http://a/" }, on = "rate-limit" } end,
      'agent.chain: field "on"[1] must be one of transient, rate_limit, timeout, invalid_output, permanent, not '
      .. '"rate-limit" (did you mean "rate_limit"?)')
  end)
end)

describe("an agent's file", function()
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
  end)
  after_each(function()
    os.execute("rm -rf " .. folder)
  end)

  it("says who it is, its tools and its model", function()
    put("reviewer", '---\nname: reviewer\ndescription: "Reviews code"\ntools: Read, Bash(git:*, ls)\nmodel: haiku\n---\nYou review.\n')
    local file = agent_file.find("reviewer", folder)
    assert.same({ "reviewer", "Reviews code", "haiku", "You review." }, { file.name, file.description, file.model, file.system })
    assert.same({ "Read", "Bash(git:*, ls)" }, file.tools)
    put("lister", "---\nname: lister\ntools:\n  - Read\n  - Grep\nmodel: inherit\n---\nYou list.\n")
    file = agent_file.find("lister", folder)
    assert.same({ "Read", "Grep" }, file.tools)
    assert.is_nil(file.model)
    assert.is_nil(agent_file.find("../reviewer", folder))
    assert.is_nil(agent_file.find("none", folder))
    put("plain", "no front matter\n")
    assert.is_nil(agent_file.find("plain", folder))
  end)

  it("is what a chosen agent is under its name, in the words of that agent", function()
    put("reviewer", "---\nname: reviewer\ntools: Read\nmodel: haiku\n---\nYou review.\n")
    local file = agent_file.find("reviewer", folder)
    local one = assert(agent.check(agent_file.applied({ kind = "anthropic" }, file), "agent"))
    assert.same({ "claude-haiku-4-5", "You review." }, { one.model, one.system })
    one = assert(agent.check(agent_file.applied({ kind = "openai", model = "mine" }, file), "agent"))
    assert.same({ "mine", "You review." }, { one.model, one.system })
    local request = fake.request(agent_file.applied(agent.claude {}, file), { answer = "text", guide = { body = "x" } })
    local args = table.concat(request.argv, " ")
    assert.matches("--model haiku", args, 1, true)
    assert.matches("--append-system-prompt You review.", args, 1, true)
    assert.matches("--allowedTools Read,", args, 1, true)
    request = fake.request(agent_file.applied(agent.codex {}, file), { answer = "text", guide = { body = "x" } })
    assert.matches("^You review.\n\n", request.stdin)
    assert.is_nil(table.concat(request.argv, " "):find("haiku", 1, true))
    local http = { kind = "http", url = "http://x/" }
    assert.equal(http, agent_file.applied(http, file))
  end)

  it("is found by the name that a step asks for", function()
    put("reviewer", "---\nname: reviewer\nmodel: sonnet\n---\nYou review.\n")
    local own = require("skillrt.document.load.config_agents").new({ x_skillrt = {} },
      { agents = { ["*"] = { kind = "anthropic" } }, folder = folder, agents_required = false })
    own:need "reviewer"
    own:need "other"
    assert.equal("You review.", own.found.reviewer.system)
    assert.is_nil(own.found.other.system)
  end)
end)
