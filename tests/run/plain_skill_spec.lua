-- plain_skill_spec.lua: a folder that is a page of instructions, run from the command line: the task, the prompt, the
-- text that comes back, one word for the agent.
local kit = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local PAGE = [[---
name: commit
description: Writes commit messages
allowed-tools: Read, Bash(git:*)
---
# Commit

Read ${CLAUDE_SKILL_DIR}/reference/style.md for $ARGUMENTS. Costs $5 and {braces}; {skill-root} is it, $HOME is not.
]]

-- A folder whose files may lie in folders.
local function new_folder()
  local folder = kit.folder()
  local file = folder.file
  function folder.file(name, text)
    os.execute(("mkdir -p '%s/%s'"):format(folder.path, name:match "^(.*)/" or "."))
    return file(name, text)
  end
  return folder
end

-- An agent that answers in words and keeps what it was asked.
local AGENT = "#!/bin/sh\ncat > asked.txt\nenv > env.txt\necho 'The message is: fix it'\n"

local function skill(folder)
  folder.file("commit/SKILL.md", PAGE)
  folder.file("commit/reference/style.md", "be short\n")
  folder.file("agent", AGENT)
  os.execute(("chmod +x '%s/agent'"):format(folder.path))
end

describe("a folder that is a page of instructions", function()
  it("does what a person asks for behind --, and says the text that comes back", function()
    local folder <close> = new_folder()
    skill(folder)
    local run = kit.run(folder, { "run", "commit", "--agent", "./agent", "--work-dir", "w", "--", "write it", "now" })
    assert.equal(0, run.code, run.err)
    assert.truthy(run.out:find("\nThe message is: fix it\n", 1, true), run.out)
    assert.equal("The message is: fix it\n", folder.read "w/run.md")
    local asked = folder.read "asked.txt"
    for _, text in ipairs { "[TASK]\nwrite it now\n", "[SKILL_DIR] " .. folder.path .. "/commit\n",
      "[PROJECT_DIR] " .. folder.path .. "\n", "[TOOLS] Read, Bash(git:*)\n", "- reference/style.md (9 bytes)\n",
      "Read " .. folder.path .. "/commit/reference/style.md for write it now. Costs $5 and {braces}; "
        .. folder.path .. "/commit is it, $HOME is not." } do
      assert.truthy(asked:find(text, 1, true), text .. "\n--- is not in ---\n" .. asked)
    end
    assert.falsy(asked:find("allowed-tools", 1, true))
    assert.equal(asked, folder.read "w/.prompts/1-1.md")
    assert.truthy(kit.run(folder, { "status", "w" }).out:find("prompts    w/.prompts", 1, true))
  end)

  it("fills in words, names and the plugin's folder, and says what it does not obey", function()
    local folder <close> = new_folder()
    skill(folder)
    folder.file("tools/.claude-plugin/plugin.json", "{}\n")
    folder.file("tools/skills/pick/SKILL.md", "---\nname: pick\ndescription: Picks\narguments: [issue, branch]\nmodel: opus\n"
      .. "hooks: {}\n---\nFix $issue on $branch ($0, $ARGUMENTS[1], $7) by ${CLAUDE_PLUGIN_ROOT}/lib.\n\nNow: `git status`\n")
    local run = kit.run(folder, { "run", "tools/skills/pick", "--agent", "./agent", "--work-dir", "w", "--", "42", "main" })
    assert.equal(0, run.code, run.err)
    local asked = folder.read "asked.txt"
    assert.truthy(asked:find(("Fix 42 on main (42, main, $7) by %s/tools/lib.\n\nNow: `git status`\n"):format(folder.path), 1,
      true), asked)
    for _, text in ipairs { "hooks: is not obeyed" } do
      assert.truthy((run.out .. run.err):find(text, 1, true), run.out .. run.err)
    end
  end)

  it("takes its task from --set, too, asks nobody without a terminal, and does not begin without one", function()
    local folder <close> = new_folder()
    skill(folder)
    local run = kit.run(folder, { "run", "commit", "--agent", "./agent", "--set", "task=set it" })
    assert.equal(0, run.code, run.err)
    assert.truthy(folder.read("asked.txt"):find("[TASK]\nset it\n", 1, true))
    run = kit.run(folder, { "run", "commit", "--agent", "./agent", "--work-dir", "none" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("skillrt run commit -- TASK", 1, true), run.err)
    assert.is_nil(folder.read "none/state.json")
    run = kit.run(folder, { "run", "commit", "--agent", "./agent", "--set", "task=a", "--", "b" })
    assert.equal(2, run.code)
  end)

  it("names three ways to go on where no agent is chosen", function()
    local folder <close> = new_folder()
    skill(folder)
    local run = kit.run(folder, { "run", "commit", "--", "x", env = "-u SKILLRT_AGENT HOME=/dev/null/none" })
    assert.equal(2, run.code)
    for _, text in ipairs { "skillrt agents", "skillrt run FOLDER --agent claude -- TASK", "SKILLRT_AGENT=claude" } do
      assert.truthy(run.err:find(text, 1, true), run.err)
    end
  end)

  it("as a workflow script is refused where it asks an agent and none is chosen, by run and by submit", function()
    local folder <close> = new_folder()
    folder.file("flow.js", "export const meta = { name: 'flow', description: 'asks' }\nreturn await agent('hi')\n")
    local env = "-u SKILLRT_AGENT HOME=/dev/null/none"
    for _, words in ipairs { { "run", "flow.js", "--trust", env = env }, { "submit", "q", "flow.js", "--trust", env = env } } do
      local run = kit.run(folder, words)
      assert.equal(2, run.code, run.err)
      assert.truthy(run.err:find("flow: no agent is chosen", 1, true), run.err)
    end
    folder.file("own", "#!/bin/sh\necho done\n")
    assert(os.execute(("chmod +x '%s/own'"):format(folder.path)))
    local own = ("SKILLRT_AGENT='%s/own'"):format(folder.path)
    local run = kit.run(folder, { "run", "flow.js", "--trust", "--work-dir", "w", env = own })
    assert.equal(0, run.code, run.err)
  end)

  it("is done by the agent of a person's own file", function()
    local folder <close> = new_folder()
    skill(folder)
    local env = ("-u SKILLRT_AGENT XDG_CONFIG_HOME='%s/config'"):format(folder.path)
    folder.file("config/skillrt/config.json", ('{ "agent": ["%s/agent"] }\n'):format(folder.path))
    local run = kit.run(folder, { "run", "commit", "--", "x", env = env })
    assert.equal(0, run.code, run.err)
    local mine = folder.file("mine", "#!/bin/sh\necho \"$ONE $TWO $THREE\" >'" .. folder.path .. "/seen'; echo done\n")
    os.execute("chmod +x " .. mine)
    folder.file("config/skillrt/config.json", ('{ "agent": ["%s"], "agent_env": ["ONE", "TWO"] }\n'):format(mine))
    run = kit.run(folder, { "run", "commit", "--", "x", env = env .. " ONE=1 TWO=2 THREE=3" })
    assert.same({ 0, "1 2 \n" }, { run.code, folder.read "seen" }, run.err)
    folder.file("config/skillrt/config.json", '{ "agents": 3 }\n')
    run = kit.run(folder, { "run", "commit", "--", "x", env = env })
    assert.equal(2, run.code)
    assert.truthy(run.err:find('config.json: field "agents" must be a table, not 3', 1, true), run.err)
  end)

  it("is resumed by the agent it was begun with, with the variables that were named", function()
    local folder <close> = new_folder()
    skill(folder)
    folder.file("agent", "#!/bin/sh\nenv > env.txt\n[ -f ready ] || exit 75\ncat > asked.txt\necho done\n")
    local options = { "run", "commit", "--agent", "./agent", "--agent-env", "MY_KEY", "--work-dir", "w",
      env = "MY_KEY=canary-1 OTHER=o" }
    options[#options + 1], options[#options + 2] = "--", "x"
    local run = kit.run(folder, options)
    assert.equal(1, run.code, run.out .. run.err)
    folder.file("ready", "")
    run = kit.run(folder, { "retry", "w", env = "MY_KEY=canary-2" })
    assert.equal(0, run.code, run.err)
    local env = folder.read "env.txt"
    assert.truthy(env:find("MY_KEY=canary-2", 1, true))
    assert.falsy(env:find("OTHER=", 1, true))
    assert.equal("", io.popen(("grep -rl canary '%s/w'"):format(folder.path)):read "a")
  end)

  it("shows what would be sent, without sending it", function()
    local folder <close> = new_folder()
    skill(folder)
    local shown = kit.run(folder, { "prompt", "commit", "--", "write it" })
    assert.equal(0, shown.code, shown.err)
    assert.truthy(shown.out:find("[TASK]\nwrite it\n", 1, true))
    assert.equal(2, kit.run(folder, { "prompt", "commit", "rnu" }).code)
    folder.file("f.lua", 'return require "skillrt".skill { name = "f", actions = { { id = "a", run = function() end } } }')
    local made = kit.run(folder, { "prompt", "f.lua", "a" })
    assert.same({ 2, "" }, { made.code, made.out })
    assert.truthy(made.err:find("f: a is a function: no agent is sent a prompt for it", 1, true), made.err)
    local none = folder.read "runs"
    assert.is_nil(none)
  end)

  it("is one of several in its folder, which are listed", function()
    local folder <close> = new_folder()
    skill(folder)
    folder.file("other/SKILL.md", "---\nname: other\ndescription: Another one\n---\nDo it.\n")
    local run = kit.run(folder, { "run", "." })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("holds 2 skills; name one", 1, true), run.err)
    assert.truthy(run.err:find("other                    Another one", 1, true), run.err)
  end)
end)

describe("every prompt of a skill with phases", function()
  it("carries the task, the input, the skill's folder, the step's id and SKILL.md's body (F44)", function()
    local folder <close> = new_folder()
    folder.file("s/SKILL.md", "---\nname: s\ndescription: d\nallowed-tools: Read\n---\n# Rules\nBe kind to $ARGUMENTS.\n")
    folder.file("s/phases/01-look.md", "# Look\n\nLook at it.\n")
    folder.file("s/phases/02-tell.md", "# Tell\n\nTell it.\n")
    local shown = kit.run(folder, { "prompt", "s", "02-tell", "--set", "dir=src", "--", "the cat" })
    assert.equal(0, shown.code, shown.err)
    for _, text in ipairs { "[PHASE] 02-tell\n", "[SKILL_DIR] " .. folder.path .. "/s\n", "[TOOLS] Read\n",
      "BEGIN DOCUMENT SKILL.md\n", "Be kind to the cat.\n", "[TASK]\nthe cat\n", '"dir": "src"' } do
      assert.truthy(shown.out:find(text, 1, true), text .. "\n--- is not in ---\n" .. shown.out)
    end
    shown = kit.run(folder, { "prompt", "s" })
    assert.truthy(shown.out:find("===== phase 01-look =====", 1, true))
  end)
end)

describe("an action's prompt", function()
  it("carries the state that is declared, each part bounded in size (F43)", function()
    local folder <close> = new_folder()
    folder.file("s.lua", [[return require("skillrt").skill { name = "s", project = { "shown", "long" },
      state = { shown = "here", hidden = "not here", long = ("x"):rep(5000) }, limits = { max_prompt_state = 1000 },
      actions = { { id = "a", agent = require("skillrt").agent.command { "true", stdin = "{prompt}" } } } }]])
    local shown = kit.run(folder, { "prompt", "s.lua", "a" })
    assert.equal(0, shown.code, shown.err)
    assert.truthy(shown.out:find('"shown": "here"', 1, true), shown.out)
    assert.falsy(shown.out:find("not here", 1, true))
    assert.truthy(shown.out:find("(left out: 5002 bytes of JSON, the limit is 1000)", 1, true), shown.out)
    assert.is_true(#shown.out < 2000)
  end)

  it("is shown without a trace: no folder is made for an output", function()
    local folder <close> = new_folder()
    folder.file("s.lua", [[return require("skillrt").skill { name = "s", mode = "sequential",
      phases = { { id = "a", prompt = "Do it.", output = "deep/a.json",
        agent = require("skillrt").agent.command { "true", stdin = "{prompt}" } } } }]])
    local shown = kit.run(folder, { "prompt", "s.lua", "a" })
    assert.equal(0, shown.code, shown.err)
    assert.truthy(shown.out:find("/deep/a.json", 1, true), shown.out)
    local found <close> = assert(io.popen(("find '%s' -name deep"):format(folder.path)))
    assert.equal("", found:read "a")
  end)
end)

describe("an agent that a person chose", function()
  it("is called what the person called it where it fails, not by a name that nobody gave", function()
    local folder <close> = new_folder()
    skill(folder)
    folder.file("agent", "#!/bin/sh\ncat > /dev/null\n")
    local run = kit.run(folder, { "run", "commit", "--agent", "./agent", "--", "x" })
    assert.equal(1, run.code)
    assert.truthy((run.out .. run.err):find('agent "agent": the reply is empty', 1, true), run.out .. run.err)
    assert.is_nil((run.out .. run.err):find("universal-executor", 1, true))
  end)
end)

describe("a word for an agent", function()
  local chosen = require "skillrt.agent.choice"

  it("is one of ours, an address or a program", function()
    assert.same({ kind = "claude", model = "opus" }, chosen.of "claude:opus")
    assert.same({ kind = "openai", model = "gpt-5" }, chosen.of "openai:gpt-5")
    assert.same({ kind = "codex", env = { "A" } }, chosen.of("codex", { "A" }))
    assert.same({ kind = "http", url = "http://x/", name = "http://x/" }, chosen.of "http://x/")
    assert.same({ "./claude" }, chosen.of("./claude").argv)
    assert.equal("command", chosen.of({ "a", "b" }).kind)
    assert.equal(json.null, json.null)
  end)
end)
