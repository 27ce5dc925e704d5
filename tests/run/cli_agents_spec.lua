-- cli_agents_spec.lua: `skillrt agents`: what is found on a machine, and whether it answers.
local kit = require "tests.support.cli_kit"
local json = require "skillrt.base.json"
local R = require "tests.support.runs"
local stand_in = require "tests.support.stand_in"

local NOBODY = "-u SKILLRT_AGENT -u ANTHROPIC_API_KEY -u ANTHROPIC_AUTH_TOKEN -u ANTHROPIC_BASE_URL -u OPENAI_API_KEY "
  .. "-u OPENAI_BASE_URL -u CODEX_API_KEY -u CLAUDE_CODE_OAUTH_TOKEN -u XDG_CONFIG_HOME HOME=/dev/null/none "

describe("skillrt agents", function()
  after_each(R.clean)

  it("lists what is on this machine, with versions and whether a key is set, and no key", function()
    local folder <close> = kit.folder()
    local program = stand_in.new(R, "claude", { "2.9.1 (Claude Code)\n", "2.9.1 (Claude Code)\n" })
    folder.file("node", "#!/bin/sh\necho v17.3.1\n")
    assert(os.execute(("chmod +x '%s/node' && mv '%s/node' '%s'"):format(folder.path, folder.path, program.folder)))
    local env = NOBODY .. ("PATH=%s:/usr/bin:/bin ANTHROPIC_API_KEY=sk-canary-77"):format(program.folder)
    local run = kit.run(folder, { "agents", env = env })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("claude     2.9.1 (Claude Code)", 1, true), run.out)
    assert.truthy(run.out:find(program.path .. " (ANTHROPIC_API_KEY is set)", 1, true), run.out)
    assert.truthy(run.out:find("codex      not found on this machine", 1, true), run.out)
    assert.truthy(run.out:find("openai     gpt-5", 1, true) and run.out:find("no key: set OPENAI_API_KEY", 1, true), run.out)
    assert.truthy(run.out:find("chosen: none", 1, true), run.out)
    assert.truthy(run.out:find("node       v17.3.1                      " .. program.folder .. "/node", 1, true), run.out)
    local shown = kit.run(folder, { "agents", "--json", env = env .. " SKILLRT_AGENT=claude" })
    local all = assert(json.decode(shown.out))
    assert.equal("claude", all.chosen)
    assert.equal("ANTHROPIC_API_KEY", all.agents[1].key)
    assert.same({ "node", "v17.3.1" }, { all.agents[#all.agents].name, all.agents[#all.agents].version })
    assert.falsy((run.out .. run.err .. shown.out):find("canary", 1, true))
    assert(os.execute(("rm '%s/node' && ln -s $(command -v timeout) '%s'"):format(program.folder, program.folder)))
    run = kit.run(folder, { "agents", env = NOBODY .. "PATH=" .. program.folder })
    assert.truthy(run.out:find("node       not found on this machine: workflow scripts need it; install nodejs", 1, true), run.out)
  end)

  it("does not call Codex ready for a key that it does not read", function()
    local folder <close> = kit.folder()
    local program = stand_in.new(R, "codex", { "codex-cli 0.1\n", "codex-cli 0.1\n" })
    local env = NOBODY .. ("PATH=%s:/usr/bin:/bin "):format(program.folder)
    local run = kit.run(folder, { "agents", env = env .. "OPENAI_API_KEY=sk-canary-77" })
    assert.truthy(run.out:find(program.path .. " (no key set: it may be logged in)", 1, true), run.out)
    run = kit.run(folder, { "agents", env = env .. "CODEX_API_KEY=sk-canary-77" })
    assert.truthy(run.out:find(program.path .. " (CODEX_API_KEY is set)", 1, true), run.out)
  end)

  it("tries one with a question of one line", function()
    local folder <close> = kit.folder()
    local good = assert(R.read "tests/support/streams/claude_good.jsonl")
    local bad = assert(R.read "tests/support/streams/claude_401.jsonl")
    local program = stand_in.new(R, "claude", { good, { out = bad, code = 1 } })
    local env = NOBODY .. ("SKILLRT_SANDBOX=off PATH=%s:/usr/bin:/bin"):format(program.folder)
    local run = kit.run(folder, { "agents", "--try", "claude", env = env })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("claude answers: Hello from the fake.", 1, true), run.out)
    run = kit.run(folder, { "agents", "--try", "claude", env = env })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("Failed to authenticate", 1, true), run.err)
    assert.equal(2, kit.run(folder, { "agents", "--try", "openai", env = env }).code)
    assert.is_nil(folder.read "runs")
  end)
end)

describe("an agent that the line names", function()
  after_each(R.clean)

  it("is asked for where the skill never asks it", function()
    local folder <close> = kit.folder()
    folder.file("mine", "#!/bin/sh\necho '{}'\n")
    folder.file("other", "#!/bin/sh\necho '{}'\n")
    assert(os.execute(("chmod +x '%s/mine' '%s/other'"):format(folder.path, folder.path)))
    local STEP <const> = 'actions = { { id = "a", agent = "default", prompt = "hi" } }'
    for agents, told in pairs {
      [ [[actions = { { id = "a", run = function() end } }]] ] = true,
      [ [[agents = { default = skillrt.agent.command { "./other", parse = "json" } }, ]] .. STEP ] = true,
      [ [[agents = { default = skillrt.agent.command { "sh", parse = "json" } }, ]] .. STEP ] = true,
      [ "agents = { default = skillrt.chosen_agent() }, " .. STEP ] = false,
      [ [[agents = { default = skillrt.agent.chain { skillrt.chosen_agent(), skillrt.agent.claude {} } }, ]] .. STEP ] = false,
    } do
      folder.file("s.lua", ('local skillrt = require "skillrt"\nreturn skillrt.skill { name = "s", %s }\n'):format(agents))
      local run = kit.run(folder, { "run", "s.lua", "--agent", "./mine", "--sandbox", "off" })
      local found = run.err:find("--agent: s itself never asks this agent; a script takes it with agents = { default", 1, true)
      assert.equal(told, found ~= nil, agents .. run.out .. run.err)
      assert.is_nil(kit.run(folder, { "run", "s.lua", "--sandbox", "off" }).err:find "%-%-agent: s itself")
    end
  end)
end)
