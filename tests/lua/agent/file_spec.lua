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
    local page = "---\nname: long\n---\n"
    put("long", page .. ("x"):rep((1 << 20) - #page))
    assert.equal((1 << 20) - #page, #agent_file.find("long", folder).system)
    put("longer", page .. ("x"):rep((1 << 20) - #page + 1))
    assert.is_nil(agent_file.find("longer", folder))
  end)

  it("of a plugin has the plugin's name in front: the one around the skill, else as Claude Code has installed it", function()
    local put_at = function(path, text)
      os.execute(("mkdir -p '%s/%s'"):format(folder, path:match "^(.*)/"))
      local file <close> = assert(io.open(folder .. "/" .. path, "w"))
      file:write(text)
    end
    local PAGE = "---\nname: x\n---\n%s\n"
    put_at("own/.claude-plugin/plugin.json", '{"name":"mine"}')
    put_at("own/agents/rev.md", PAGE:format "of mine")
    put_at("own/agents/deep/rev.md", PAGE:format "deep")
    put_at("own/workflows/w.js", "")
    put_at("secret.md", PAGE:format "outside")
    put_at("cache/agents/rev.md", PAGE:format "installed")
    put_at("other/agents/rev.md", PAGE:format "of another project")
    put_at("home/plugins/marketplaces/mk/plugins/late/agents/rev.md", PAGE:format "of the marketplace")
    local getenv = os.getenv
    os.getenv = function(name) return name == "CLAUDE_CONFIG_DIR" and folder .. "/home" or getenv(name) end -- luacheck: ignore
    local function said(name)
      local file, looked = agent_file.find(name, folder .. "/own/workflows")
      return file and file.system, looked
    end
    local ok, why = pcall(function()
      for _, form in ipairs { -- the two that its file has had, one that lies about everything, one that is torn
        [[{"plugins":{"tools@mk":{"installPath":"%s/cache"},"late@mk":{"installPath":"/gone"}}}]],
        [[{"version":2,"plugins":{"tools@mk":[{"projectPath":"/elsewhere","installPath":"%s/other"},
          {"scope":"user","installPath":"%s/cache"}],"late@mk":[{"installPath":"/gone"}]}}]],
        [[{"plugins":{"tools@mk":[7,{"installPath":{}},null],"late@mk":"x","":[],"bad":{}}}]], "{", "[]",
      } do
        put_at("home/plugins/installed_plugins.json", (form:gsub("%%s", folder)))
        local is_good = form:find "cache" ~= nil
        assert.equal(is_good and "installed" or nil, (said "tools:rev"))
        assert.equal(form:find "late@mk" and "of the marketplace" or nil, (said "late:rev"))
        assert.same({ "of mine", "deep" }, { said "mine:rev", (said "mine:deep:rev") })
        for _, name in ipairs { "own:rev", "mine:../../secret", "mine:", ":rev", "mine:..:..:secret", "rev" } do
          assert.is_nil((said(name)))
        end
        local _, looked = said "mine:none"
        assert.same({ folder .. "/own/workflows/agents/mine:none.md", folder .. "/own/agents/none.md",
          ("the plugin mine in %s/home/plugins/installed_plugins.json"):format(folder) }, looked)
      end
    end)
    os.getenv = getenv -- luacheck: ignore
    assert(ok, why)
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
