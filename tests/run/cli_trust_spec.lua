-- cli_trust_spec.lua: a folder's code is a stranger's until a person has said once that it may run.
local kit = require "tests.support.cli_kit"

local SKILL = [[
local helper = dofile(debug.getinfo(1, "S").source:match "^@(.*)/" .. "/helper.lua")
return require("skillrt").skill { name = "s", actions = { { id = "a", run = function() return { n = helper.n } end } } }
]]

local function put(folder)
  os.execute("mkdir -p " .. folder.path .. "/s")
  folder.file("s/skill.lua", SKILL)
  folder.file("s/helper.lua", "-- os.execute is not called here\nreturn { n = 3 }\n")
  return "XDG_STATE_HOME=" .. folder.path .. "/state"
end

describe("the code of a skill's folder", function()
  it("does not run without a word of its person, and shows what it is", function()
    local folder <close> = kit.folder()
    local env = put(folder)
    folder.file("s/skill.lua", "io.open('ran', 'w'):close()\n" .. SKILL)
    local run = kit.run(folder, { "run", "s", env = env })
    assert.equal(8, run.code, run.err)
    assert.truthy(run.err:find("helper.lua: 2 lines, uses a shell", 1, true), run.err)
    assert.truthy(run.err:find("skill.lua: 3 lines, uses files", 1, true), run.err)
    assert.truthy(run.err:find("--trust", 1, true))
    kit.run(folder, { "run", "s", "--help", env = env })
    assert.is_nil(folder.read "ran")
  end)

  it("runs with --trust, is remembered, and asked about again when any of it changed", function()
    local folder <close> = kit.folder()
    local env = put(folder)
    local run = kit.run(folder, { "run", "s", "--trust", "--work-dir", "a", env = env })
    assert.equal(0, run.code, run.err)
    assert.equal(0, kit.run(folder, { "run", "s", "--work-dir", "b", env = env }).code)
    folder.file("s/helper.lua", "return { n = 4 }\n")
    assert.equal(8, kit.run(folder, { "run", "s", "--work-dir", "c", env = env }).code)
    assert.equal(8, kit.run(folder, { "run", "s", "--work-dir", "d", env = "XDG_STATE_HOME=/dev/null/none" }).code)
  end)

  it("is not asked about where the script itself is named, or where it is ours", function()
    local folder <close> = kit.folder()
    local env = put(folder)
    assert.equal(0, kit.run(folder, { "run", "s/skill.lua", env = env }).code)
    folder.file("s/helper.lua", "")
    os.remove(folder.path .. "/s/helper.lua")
    local ours = [[
-- s: run with `skillrt run .` in this folder
local skillrt = require "skillrt"
local folder = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "."

return skillrt.from_config(folder .. "/skill-config.json", { folder = folder })
]]
    folder.file("s/skill.lua", ours)
    assert.truthy(kit.run(folder, { "run", "s", env = env }).code ~= 8)
    folder.file("s/skill.lua", "--[[ a\n]] os.exit(0) --[[\n]]\n" .. ours)
    assert.equal(8, kit.run(folder, { "run", "s", env = env }).code)
    folder.file("s/skill.lua", ours .. "\nos.exit(0)")
    assert.equal(8, kit.run(folder, { "run", "s", env = env }).code)
  end)

  it("is not run by commands that only look, either", function()
    local folder <close> = kit.folder()
    local env = put(folder)
    folder.file("s/skill.lua", "io.open('ran', 'w'):close()\n" .. SKILL)
    for _, command in ipairs { "check", "graph", "prompt" } do
      local looked = kit.run(folder, { command, "s", env = env })
      assert.equal(8, looked.code, command)
      assert.truthy(looked.err:find("--trust", 1, true), command)
    end
    assert.is_nil(folder.read "ran")
    assert.equal(0, kit.run(folder, { "graph", "s", "--trust", env = env }).code)
    assert.truthy(folder.read "ran")
  end)

  it("is what a config starts and sends to, too, as deep as chains and skills go", function()
    local folder <close> = kit.folder()
    local env = put(folder)
    local config = [[{"skill_name": "calls", "display_name": "C", "description": "d", "execution_mode": "sequential",
      "sequential_config": {"phases": [{"id": "01-a", "name": "A", "output": "a.json", "agent": {"type": "x"}}]},
      "x_skillrt": {"agents": {"x": {"kind": "chain", "links": [
        {"kind": "command", "argv": ["sh", "-c", "echo '{\"status\":\"completed\",\"output\":{}}'; touch ran"], "parse": "json",
          "sandbox": {"write": "."}},
        {"kind": "skill", "skill": "../s"}, {"kind": "http", "url": "http://user:secret@127.0.0.1:1/x"},
        {"kind": "claude", "permission": "bypassPermissions", "args": ["--x"]}]}}}}]]
    os.execute("mkdir -p " .. folder.path .. "/c/phases")
    folder.file("c/skill-config.json", config)
    folder.file("c/phases/01-a.md", "# A\n")
    for _, path in ipairs { "c", "c/skill-config.json" } do
      local run = kit.run(folder, { "run", path, env = env })
      assert.equal(8, run.code, run.err)
      assert.truthy(run.err:find("agent x, 1: starts sh -c echo", 1, true), run.err)
      assert.truthy(run.err:find("agent x, 2: runs the skill ../s", 1, true), run.err)
      assert.truthy(run.err:find("agent x, 3: sends to http://", 1, true), run.err)
      assert.truthy(run.err:find("agent x, 4: claude with bypassPermissions --x", 1, true), run.err)
      assert.is_nil(run.err:find("secret", 1, true))
    end
    assert.is_nil(folder.read "ran")
    assert.truthy(kit.run(folder, { "check", "c", env = env }).code ~= 8) -- it runs nothing
    local run = kit.run(folder, { "run", "c", "--trust", env = env })
    assert.equal(0, run.code, run.err)
    assert.truthy(folder.read "ran")
    folder.file("s/helper.lua", "return { n = 5 }\n")
    assert.equal(8, kit.run(folder, { "run", "c", env = env }).code) -- the skill it names changed
  end)

  it("is what a config starts in a chain of chains, and in as many skills of skills as a run nests", function()
    local folder <close> = kit.folder()
    local agent = ('{"kind": "chain", "links": ['):rep(20) .. '{"kind": "command", "argv": ["sh"]}' .. ("]}"):rep(20)
    for number = 8, 0, -1 do
      os.execute(("mkdir -p %s/c%d/phases"):format(folder.path, number))
      folder.file(("c%d/phases/01-a.md"):format(number), "# A\n")
      folder.file(("c%d/skill-config.json"):format(number), ([[{"skill_name": "deep", "display_name": "C", "description": "d",
        "execution_mode": "sequential", "sequential_config": {"phases": [{"id": "01-a", "name": "A", "output": "a.json",
        "agent": {"type": "x"}}]}, "x_skillrt": {"agents": {"x": %s}}}]]):format(agent))
      local run = kit.run(folder, { "run", "c" .. number })
      assert.equal(8, run.code, run.err)
      assert.matches("agent x, [1, ]+: starts sh", run.err)
      agent = ('{"kind": "chain", "links": [{"kind": "skill", "skill": "../c%d"}]}'):format(number)
    end
  end)

  it("is a strategy that lies in it, though no script does", function()
    local folder <close> = kit.folder()
    os.execute("mkdir -p " .. folder.path .. "/c/strategies")
    folder.file("c/strategies/mine.lua", "return { select = function() os.execute 'touch ran' end }\n")
    folder.file("c/skill-config.json", [[{"skill_name": "calls", "display_name": "C", "description": "d",
      "execution_mode": "autonomous", "autonomous_config": {"actions": [{"id": "action-a", "name": "A"}]},
      "x_skillrt": {"strategy": "mine"}}]])
    local run = kit.run(folder, { "run", "c", "--agent", "true", env = "XDG_STATE_HOME=" .. folder.path })
    assert.equal(8, run.code, run.err)
    assert.truthy(run.err:find("strategies/mine.lua: 1 line, uses a shell", 1, true), run.err)
    assert.is_nil(folder.read "ran")
  end)
end)

describe("a workflow script", function()
  local SCRIPT = [[
export const meta = { name: 'two', description: 'asks two', phases: [{ title: 'Scan' }, { title: 'Judge', model: 'opus' }] }
const found = await parallel(args.names.map((name) => () => agent(`look at ${name}`, { phase: 'Scan' })))
return await agent('judge ' + found.length, { phase: 'Judge' })
]]

  local function script(folder)
    folder.file("two.js", SCRIPT)
    return "XDG_STATE_HOME=" .. folder.path .. "/state HOME=" .. folder.path
  end

  it("begins when a person has seen its phases and how many agents it asks, once until it changes (W23)", function()
    local folder <close> = kit.folder()
    local env = script(folder)
    local words = { "run", "two.js", "--agent", "cat", "--work-dir", "a", env = env, "--", '{"names":["a","b","c"]}' }
    local run = kit.run(folder, words)
    assert.equal(8, run.code, run.err)
    for _, text in ipairs { "two: asks two", "phases: Scan, Judge (opus)", "agents: 4 in a dry run", "more than 1000",
      "--trust" } do
      assert.truthy(run.err:find(text, 1, true), run.err)
    end
    assert.is_nil(folder.read "a/state.json")
    table.insert(words, 3, "--trust")
    run = kit.run(folder, words)
    assert.equal(0, run.code, run.err)
    words[3], words[7] = "--quiet", "b"
    assert.equal(0, kit.run(folder, words).code)
    folder.file("two.js", SCRIPT .. "// changed\n")
    words[7] = "c"
    assert.equal(8, kit.run(folder, words).code)
  end)

  it("may be tried and checked by who has not said so, as both ask nobody (W23)", function()
    local folder <close> = kit.folder()
    local env = script(folder)
    local words = { "run", "two.js", "--dry-run", "--work-dir", "a", env = env, "--", '{"names":["a"]}' }
    assert.equal(0, kit.run(folder, words).code)
    assert.truthy(kit.run(folder, { "check", "two.js", env = env }).code ~= 8)
  end)

  it("is asked about by whoever goes on with a run of another's, too (W23)", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=" .. folder.path .. "/state"
    folder.file("asks.js", "export const meta = { name: 'x', description: 'd' }\nreturn await ask('Well?')\n")
    assert.equal(3, kit.run(folder, { "run", "asks.js", "--trust", "--work-dir", "w", env = env }).code)
    local other = "XDG_STATE_HOME=" .. folder.path .. "/other"
    for _, words in ipairs { { "resume", "w", "--wait" }, { "retry", "w" }, { "answer", "w", "x" }, { "abort", "w" } } do
      words.env = other
      local run = kit.run(folder, words)
      assert.equal(8, run.code, words[1] .. run.err)
      assert.truthy(run.err:find("w: is a run from elsewhere whose code has not been approved", 1,
        true), run.err)
      assert.truthy(run.err:find("asks.js", 1, true), run.err)
    end
    local run = kit.run(folder, { "answer", "w", "x", "--trust", env = other })
    assert.equal(0, run.code, run.err)
  end)

  it("is called by its name where one keeps them; a project's wins over a personal one (W22)", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=/dev/null/none HOME=" .. folder.path .. "/home"
    os.execute(("mkdir -p '%s/home/.claude/workflows' '%s/.claude/workflows'"):format(folder.path, folder.path))
    local function keep(path, word)
      folder.file(path, ("export const meta = { name: 'x', description: 'd' }\nreturn ['%s', args]\n"):format(word))
    end
    local function result(dir, name)
      local run = kit.run(folder, { "run", name, "--trust", "--work-dir", dir, env = env, "--", '"given"' })
      assert.equal(0, run.code, run.err)
      return require("skillrt.base.json").decode(folder.read(dir .. "/state.json")).result
    end
    keep("home/.claude/workflows/review.js", "personal")
    keep("home/.claude/workflows/own.js", "own")
    keep(".claude/workflows/review.js", "project")
    assert.same({ "project", "given" }, { table.unpack(result("a", "review")) })
    assert.same({ "own", "given" }, { table.unpack(result("b", "own")) })
    assert.equal(2, kit.run(folder, { "run", "nowhere", env = env }).code)
  end)

  it("is called by its name, too, where it is a skill, a command or an agent; what lies here comes first", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=/dev/null/none HOME=" .. folder.path .. "/home"
    os.execute(("cd '%s' && mkdir -p home/.claude/skills/tidy home/.claude/agents .claude/commands/git .claude/skills/both home/both")
      :format(folder.path))
    local function page(path, word)
      local name = path:match "([%w]+)/SKILL" or path:match "(%w+)%.md"
      folder.file(path, ("---\nname: %s\ndescription: d\n---\nThe page %s.\n"):format(name, word))
    end
    local function asked(name)
      local run = kit.run(folder, { "run", name, "--agent", '["sh","-c","cat >asked; echo done"]', "--trust", env = env, "--", "x" })
      return run.code == 0 and folder.read("asked"):match "The page ([^.]*)" or run.err
    end
    page("home/.claude/skills/tidy/SKILL.md", "own skill")
    page("home/.claude/agents/tidy.md", "own agent")
    page("home/.claude/agents/critic.md", "critic")
    page(".claude/commands/git/push.md", "push")
    page(".claude/skills/both/SKILL.md", "kept")
    assert.same({ "own skill", "own skill", "critic", "push", "push", "kept" }, { asked "tidy", asked "/tidy", asked "critic",
      asked "git:push", asked "/git:push", asked "both" })
    os.execute(("cd '%s' && cp -r .claude/skills/both both"):format(folder.path))
    page("both/SKILL.md", "here")
    assert.equal("here", asked "both")
    for _, name in ipairs { "..", "../tidy", "a:..:b", "git/push", "git:", "x:" .. ("y"):rep(5000) } do
      assert.equal(2, kit.run(folder, { "run", name, env = env }).code, name)
    end
  end)
end)

describe("the gate", function()
  -- A folder whose code says so when it is loaded, and stops at a question.
  local function asking(folder, name)
    os.execute(("mkdir -p '%s/%s'"):format(folder.path, name))
    folder.file(name .. "/part.txt", "return 1\n")
    folder.file(name .. "/skill.lua", [[io.open("loaded", "a"):write("x"):close()
dofile(debug.getinfo(1, "S").source:match "^@(.*)/" .. "/part.txt")
return require("skillrt").skill { name = "s", actions = { { id = "a", run = function(_, ctx)
  return { said = ctx.ask { question = "go?" } } end } } }]])
    return "SKILLRT_SANDBOX=off XDG_STATE_HOME=" .. folder.path .. "/state" -- in a child it could not say so
  end

  it("lets nothing of a trusted folder run that changed, whoever takes its run up", function()
    local folder <close> = kit.folder()
    local env = asking(folder, "s")
    assert.equal(3, kit.run(folder, { "run", "s", "--trust", "--work-dir", "w", env = env }).code)
    os.remove(folder.path .. "/loaded")
    folder.file("s/part.txt", "return 2\n")
    for _, words in ipairs { { "resume", "w", "--wait" }, { "answer", "w", "x" }, { "abort", "w" },
      { "replay", "w" }, { "retry", "w" }, { "run", "s" }, { "check", "s" }, { "graph", "s" } } do
      words.env = env
      local run = kit.run(folder, words)
      assert.equal(8, run.code, words[1] .. ": " .. run.out .. run.err)
      assert.is_nil(folder.read "loaded", words[1])
    end
  end)

  it("is named to a run whose folder has moved, asked about where it changed, and runs apart there, too", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=" .. folder.path .. "/state"
    local script = [[return require("skillrt").skill { name = "s", actions = { { id = "a", run = function(_, ctx)
      return { who = pcall(io.open, "/dev/null") and "free" or "apart", got = ctx.ask "?" }
    end } } }
]]
    os.execute("mkdir " .. folder.path .. "/s")
    folder.file("s/skill.lua", script)
    assert.equal(3, kit.run(folder, { "run", "s", "--trust", "--work-dir", "w", env = env }).code)
    os.rename(folder.path .. "/s", folder.path .. "/t")
    local gone = kit.run(folder, { "answer", "w", "x", env = env })
    assert.equal(2, gone.code)
    assert.has_match("the run's script is gone; if it has moved, name its place: --script PATH", gone.err, 1, true)
    folder.file("t/skill.lua", "-- more\n" .. script)
    assert.equal(8, kit.run(folder, { "answer", "w", "x", "--script", "t", env = env }).code)
    folder.file("t/skill.lua", script)
    local done = kit.run(folder, { "answer", "w", "x", "--script", "t", env = env })
    assert.equal(0, done.code, done.err)
    assert.matches('"who": "apart"', folder.read "w/state.json")
  end)

  it("goes by what a path is, not by its name", function()
    for _, name in ipairs { "x.lua", "y.js", "z.json" } do
      local folder <close> = kit.folder()
      local env = asking(folder, name)
      local run = kit.run(folder, { "run", name, env = env })
      assert.equal(8, run.code, name .. run.err)
      assert.is_nil(folder.read "loaded", name)
    end
  end)

  it("takes no code of ours for what stands behind a carriage return", function()
    local folder <close> = kit.folder()
    local env = asking(folder, "s")
    os.remove(folder.path .. "/s/part.txt")
    folder.file("s/skill.lua", [[
-- s: run with `skillrt run .` in this folder]] .. "\rio.open('loaded', 'w'):close()\n" .. [[
local skillrt = require "skillrt"
local folder = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "."

return skillrt.from_config(folder .. "/skill-config.json", { folder = folder })
]])
    assert.equal(8, kit.run(folder, { "check", "s", env = env }).code)
    assert.is_nil(folder.read "loaded")
  end)

  it("loads nothing that a stranger's run names, and starts no agent of its journal", function()
    local folder <close> = kit.folder()
    local mine = "XDG_STATE_HOME=" .. folder.path .. "/state"
    folder.file("mine.lua", [[io.open("loaded", "a"):write("x"):close()
return require("skillrt").skill { name = "s", actions = { { id = "a", run = function(_, ctx)
  return { said = ctx.ask { question = "go?" } } end } } }]])
    assert.equal(3, kit.run(folder, { "mine.lua", "--work-dir", "w", env = mine }).code)
    os.remove(folder.path .. "/loaded")
    for _, words in ipairs { { "resume", "w", "--wait" }, { "answer", "w", "x" }, { "abort", "w" },
      { "replay", "w" } } do
      words.env = "XDG_STATE_HOME=" .. folder.path .. "/other"
      local run = kit.run(folder, words)
      assert.equal(8, run.code, words[1] .. ": " .. run.out .. run.err)
      assert.is_nil(folder.read "loaded", words[1])
    end
    local explained = kit.run(folder, { "explain", "w", env = "XDG_STATE_HOME=" .. folder.path .. "/other" })
    assert.matches("a was chosen", explained.out, 1, true)
    assert.is_nil(folder.read "loaded")
    assert.equal(0, kit.run(folder, { "answer", "w", "x", env = mine }).code)
  end)

  it("shows every program with all of its words, and every strategy of a config", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=" .. folder.path .. "/state"
    os.execute(("mkdir -p '%s/s/strategies'"):format(folder.path))
    local servers, long = {}, ("w"):rep(300)
    for i = 1, 60 do
      servers[i] = ('"s%02d": { "command": "prog%02d", "args": ["%s", "last%02d"] }'):format(i, i, long, i)
    end
    folder.file("s/SKILL.md", "---\nname: s\ndescription: d\n---\nDo it.\n")
    folder.file("s/.mcp.json", '{ "mcpServers": { ' .. table.concat(servers, ", ") .. " } }")
    local run = kit.run(folder, { "run", "s", "--agent", "dry", env = env, "--", "task" })
    assert.equal(8, run.code, run.err)
    for i = 1, 60 do
      assert.truthy(run.err:find(("last%02d"):format(i), 1, true), i)
    end
    os.execute(("mkdir -p '%s/c/strategies'"):format(folder.path))
    folder.file("c/skill-config.json", [[{"skill_name": "calls", "display_name": "C", "description": "d",
      "execution_mode": "autonomous", "autonomous_config": {"actions": [{"id": "action-a", "name": "A"}]},
      "x_skillrt": {"agent": {"kind": "command", "argv": ["prog", "word"], "cwd": "below",
        "env": {"TOKEN_OF_MINE": true}}}}]])
    folder.file("c/strategies/own.lua", "return {}")
    run = kit.run(folder, { "run", "c/skill-config.json", env = env })
    assert.equal(8, run.code, run.err)
    assert.truthy(run.err:find("strategies/own.lua", 1, true), run.err)
    assert.truthy(run.err:find("agent: starts prog word in below (with TOKEN_OF_MINE)", 1, true), run.err)
  end)

  -- A skill that is one config; `agent` is JSON.
  local function config_of(agent)
    return [[{"skill_name": "calls", "display_name": "C", "description": "d", "execution_mode": "sequential",
      "sequential_config": {"phases": [{"id": "01-a", "name": "A", "output": "a.json", "agent": {"type": "x"}}]},
      "x_skillrt": {"agents": {"x": ]] .. agent .. "}}}"
  end

  local PAGE = "---\nname: page\ndescription: d\n%s---\n# Page\n\nDo it.\n"

  it("asks about what documents let an agent do beyond reading, as the loader reads them", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=" .. folder.path .. "/state"
    os.execute(("cd '%s' && mkdir -p page set .claude/agents own/agents"):format(folder.path))
    folder.file("claude", [[#!/bin/sh
      cat > /dev/null; echo "$@" >> permitted
      echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"x","usage":{}}']])
    os.execute(("chmod +x '%s/claude'"):format(folder.path))
    env = ("%s PATH=%s:%s"):format(env, folder.path, os.getenv "PATH")
    local n = 0
    local function run(path, trust, agent)
      n = n + 1
      return kit.run(folder, { "run", path, "--agent", agent or "claude", "--work-dir", "w" .. n, trust or "--quiet",
        env = env, "--", "task" })
    end
    for path, text in pairs {
      ["page/SKILL.md"] = PAGE:format "allowed-tools: Read, Bash(*)\n",
      ["page/SKILL.md "] = PAGE:format "allowed-tools:\n  - Write\n  - Bash(*)\n",
      ["do.md"] = "---\ndescription: d\nallowed-tools: [Bash(*)]\n---\nDo it.\n",
      ["set/agent.yml"] = "name: set\nskills:\n  - name: all\n    description: d\n    tools: [\"Bash(*)\"]\n",
    } do
      path = path:gsub(" $", "")
      folder.file(path, text)
      for _, named in ipairs { path, path:match "^page" } do
        local asked = run(named)
        assert.equal(8, asked.code, named .. asked.err)
        assert.truthy(asked.err:find("Bash(*)", 1, true), asked.err)
        assert.is_nil(asked.err:find("Read,", 1, true))
      end
    end
    folder.file("page/SKILL.md", PAGE:format "allowed-tools: Read, Grep\n")
    assert.equal(0, run("page").code)
    folder.file("page/SKILL.md", PAGE:format "allowed-tools: Read, Bash(*)\n")
    assert.equal(0, run("page", nil, "date").code) -- a program that takes no permissions is given none
    assert.equal(8, kit.run(folder, { "retry", "w" .. n, "--agent", "claude", env = env }).code)
    assert.is_nil((folder.read "permitted"):find("Bash", 1, true))
    assert.equal(0, kit.run(folder, { "check", "page", env = env }).code)
    assert.equal(0, run("page", "--trust").code)
    assert.equal(0, run("page").code)
    folder.file("page/SKILL.md", PAGE:format "allowed-tools: Read, Bash(*), WebFetch\n")
    assert.equal(8, run("page").code)
    folder.file("own/SKILL.md", PAGE:format "")
    assert.equal(0, run("own").code)
    local agent = "---\nname: default\ntools: Read, Bash(rm:*)\n---\nYou are it.\n"
    folder.file("own/agents/default.md", agent)
    local asked = run("own")
    assert.equal(8, asked.code, asked.err)
    assert.truthy(asked.err:find("own/agents/default.md: its agent may use Bash(rm:*) without asking", 1, true), asked.err)
    os.remove(folder.path .. "/own/agents/default.md")
    folder.file(".claude/agents/universal-executor.md", agent)
    assert.equal(8, run("own").code)
    folder.file("w.js", "export const meta = { name: 'x', description: 'd' }\nreturn 1\n")
    asked = run "w.js"
    assert.truthy(asked.err:find(".claude/agents/universal-executor.md: its agent may use Bash(rm:*)", 1, true), asked.err)
  end)

  it("reads a config as the loader does: with a mark of its encoding, and however large", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=" .. folder.path .. "/state"
    os.execute("mkdir -p " .. folder.path .. "/c/phases")
    folder.file("c/phases/01-a.md", "# A\n")
    local config = config_of [[{"kind": "command", "argv": ["sh", "-c", "touch ran"]}]]
    for _, text in ipairs { "\xEF\xBB\xBF" .. config, config .. (" "):rep(5 << 20) } do
      folder.file("c/skill-config.json", text)
      for _, path in ipairs { "c", "c/skill-config.json" } do
        local run = kit.run(folder, { "run", path, env = env })
        assert.equal(8, run.code, path .. run.out .. run.err)
      end
    end
    assert.is_nil(folder.read "ran")
  end)

  it("asks again where a file changed that an argument names, wherever it lies, or that poses as part of a run", function()
    local folder <close> = kit.folder()
    local env = "XDG_STATE_HOME=" .. folder.path .. "/state"
    os.execute(("mkdir -p '%s/c/phases' '%s/c/seeming/journal'"):format(folder.path, folder.path))
    folder.file("c/phases/01-a.md", "# A\n")
    folder.file("c/seeming/run.lock", "")
    folder.file("c/skill-config.json", config_of [[{"kind": "command", "parse": "json",
      "argv": ["sh", "-c", "sh ../tool.md; sh seeming/part; echo '{\"status\":\"completed\",\"output\":{}}'"]}]])
    local n = 0
    local function run(...)
      n = n + 1
      return kit.run(folder, { "run", "c", "--work-dir", "w" .. n, env = env, ... }).code
    end
    for _, name in ipairs { "tool.md", "c/seeming/part", "tool.md" } do
      folder.file("tool.md", "true\n")
      folder.file("c/seeming/part", "true\n")
      assert.equal(0, run "--trust")
      assert.equal(0, run())
      folder.file(name, "true changed\n")
      assert.equal(8, run(), name)
    end
  end)

  it("stands before a replay by another skill, and before tests, of a folder that is called as a script is", function()
    local folder <close> = kit.folder()
    local env = asking(folder, "x.lua")
    folder.file("x.lua/x_spec.lua", "io.open('loaded', 'w'):close()\n")
    folder.file("mine.lua", [[return require("skillrt").skill { name = "s",
      actions = { { id = "a", run = function() return { n = 1 } end } } }]])
    assert.equal(0, kit.run(folder, { "mine.lua", "--work-dir", "w", env = env }).code)
    assert.equal(8, kit.run(folder, { "replay", "w", "--skill", "x.lua", env = env }).code)
    assert.equal(8, kit.run(folder, { "test", "x.lua", env = env }).code)
    assert.equal(0, kit.run(folder, { "run", "--help", "x.lua", env = env }).code)
    assert.is_nil(folder.read "loaded")
  end)

  it("is the only way to what loads code: no command goes past it", function()
    local doors = { ["skillrt.document.load"] = "document/open.lua document/check/subject.lua document/trust.lua "
      .. "document/compile/init.lua", -- which only reads, and takes no folder with a script
      ["skillrt.document.script"] = "document/open.lua document/load/init.lua document/guest.lua cli/host.lua",
      ["skillrt.document.guest"] = "document/load/init.lua",
      ["skillrt.skill.workflow"] = "document/open.lua document/reopen.lua document/check/workflow.lua init.lua "
        .. "cli/command/run.lua" }
    local pipe <close> = assert(io.popen "grep -rn 'require.*skillrt' lua/skillrt")
    local count = 0
    for line in pipe:lines() do
      local path, name = line:match "^lua/skillrt/([^:]+):.-require%s*%(?%s*[\"']([%w_.]+)[\"']"
      local allowed = doors[name]
      if allowed and not line:find "%.saved%(" then
        count = count + 1
        assert.truthy((" " .. allowed .. " "):find(" " .. path .. " ", 1, true), line)
      end
    end
    assert.is_true(count > 6)
  end)
end)
