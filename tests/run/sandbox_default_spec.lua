-- sandbox_default_spec.lua: which programs run in a sandbox where nobody says so: those that a document names, coding
-- agents that are chosen by a word, the node of a workflow script; and how their person lifts it.
local R = require "tests.support.runs"
local core = require "skillrt.core"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"

local function works()
  local ok, why = core.jail()
  if not ok then
    pending("no sandbox works here: cannot " .. why)
  end
  return ok
end

-- A folder, a home elsewhere, and what its runs find around them.
local function new_folder()
  local folder, home = kit.folder(), R.kept_folder()
  folder.home = home
  os.execute(("mkdir -p '%s/.ssh' '%s/.claude' '%s/bin'"):format(home, home, folder.path))
  R.write(home .. "/.ssh/id", "the key\n")
  R.write(home .. "/.claude.json", "{}\n")
  R.write(home .. "/.claude/settings.json", "{}\n")
  R.write(home .. "/.claude/.credentials.json", "login\n")
  return folder, ("HOME='%s' PATH='%s/bin':$PATH XDG_STATE_HOME='%s/state'"):format(home, folder.path, folder.path)
end

-- A config with one program, which writes where it works and elsewhere.
local function config(folder, own, agent)
  local looker = { kind = "command", argv = { "sh", "-c", ("touch made '%s/out'; echo done"):format(folder.home) } }
  for key, value in pairs(agent or {}) do looker[key] = value end
  local x = { agents = { looker = looker } }
  for key, value in pairs(own or {}) do x[key] = value end
  os.execute(("mkdir -p '%s/s'"):format(folder.path))
  folder.file("s/skill-config.json", assert(json.encode { skill_name = "boxed", description = "d",
    execution_mode = "autonomous", x_skillrt = x,
    autonomous_config = { actions = { { id = "look", agent = { type = "looker" } } } } }))
end

-- Where its program could write, and the sandbox that is recorded.
local function wrote(folder, words, run_of)
  local dir = "w" .. core.uuid()
  local all = { "run", "s", "--trust", "--quiet", "--work-dir", dir, env = words.env }
  local run = kit.run(folder, table.move(words, 1, #words, #all + 1, all))
  assert.equal(0, run.code, run.err .. run.out)
  local out = {}
  for name, path in pairs { ["in"] = folder.path .. "/made", out = folder.home .. "/out" } do
    out[#out + 1] = R.exists(path) and name or nil
    os.remove(path)
  end
  table.sort(out)
  local call = R.records(folder.path .. "/" .. dir, "call")[1]
  return table.concat(out, " "), (call.sandbox or "none"):match "%a+",
    run_of and R.records(folder.path .. "/" .. dir, "run")[1].sandbox
end

-- Claude Code, played by a program that tries what an agent must not do, and says what it could read.
local CLAUDE = [[#!/bin/sh
cat >/dev/null
can() { "$@" >/dev/null 2>&1 && said="$said $name"; }
for path in made "$HOME/out" "$HOME/.claude/settings.json" "$HOME/.claude.json" "$HOME/.claude/projects/x"; do
  echo changed > "$path"
done 2>/dev/null
name=login can grep login "$HOME/.claude/.credentials.json"
name=key can cat "$HOME/.ssh/id"
name=page can cat "$SKILL_DIR/SKILL.md"
name=proxy can test "${HTTPS_PROXY#http://127.0.0.1:}" != "$HTTPS_PROXY"
printf '{"type":"result","subtype":"success","result":"read%s","session_id":"s"}\n' "$said"
]]

local function page(folder, front)
  os.execute(("mkdir -p '%s/p'"):format(folder.path))
  folder.file("p/SKILL.md", ("---\nname: p\ndescription: Looks around. Use it to look.\n%s---\n\nLook around.\n"):format(
    front or ""))
  folder.file("bin/claude", CLAUDE)
  os.execute(("chmod +x '%s/bin/claude'"):format(folder.path))
end

local function said(folder, words)
  local dir = "w" .. core.uuid()
  local all = { "run", words.path or "p", "--work-dir", dir, "--agent", words.agent or "claude", env = words.env }
  table.move(words, 1, #words, #all + 1, all)
  table.move({ "--", "look" }, 1, 2, #all + 1, all)
  local run = kit.run(folder, all)
  assert.equal(0, run.code, run.err .. run.out)
  local out = { run.out:match "read[ %a]*" .. ";" }
  for _, path in ipairs { folder.path .. "/made", folder.home .. "/out", folder.home .. "/.claude/settings.json",
    folder.home .. "/.claude.json", folder.home .. "/.claude/projects/x" } do
    if R.read(path) == "changed\n" then
      out[#out + 1] = path:match "[%w.]+$"
      R.write(path, "")
    end
  end
  return table.concat(out, " "), (R.records(folder.path .. "/" .. dir, "call")[1].sandbox or "none"):match "%a+"
end

describe("without a word of anybody", function()
  after_each(R.clean)

  it("a program that a document names has what its sandbox grants, and no more", function()
    if not works() then return end
    local folder <close>, env = new_folder()
    config(folder)
    assert.same({ "", "strict" }, { wrote(folder, { env = env }) })
    assert.same({ "in out", "none", "off" }, { wrote(folder, { env = env .. " SKILLRT_SANDBOX=off" }, true) })
    assert.same({ "in out", "none", "off" }, { wrote(folder, { env = env, "--sandbox", "off" }, true) })
    assert.same({ "", "strict", "work" }, { wrote(folder, { env = env .. " SKILLRT_SANDBOX=off", "--sandbox", "work" }, true) })
    config(folder, { sandbox = "work" })
    assert.same({ "in", "work" }, { wrote(folder, { env = env }) })
    config(folder, nil, { sandbox = { write = "." } })
    assert.same({ "in", "strict" }, { wrote(folder, { env = env }) })
    config(folder, { sandbox = "off" })
    assert.same({ "in out", "none" }, { wrote(folder, { env = env }) })
    -- what it says of its default is not heard
    config(folder, nil, { sandbox_default = "off" })
    assert.same({ "", "strict" }, { wrote(folder, { env = env }) })
    config(folder, { agents = json.null, agent = { "sh", "-c", "touch made; echo '{\"status\":\"completed\"}'" } })
    assert.same({ "", "strict" }, { wrote(folder, { env = env }) })
    -- the person's own program is theirs
    folder.file("bin/own", "#!/bin/sh\ntouch made; echo '{\"status\":\"completed\"}'\n")
    os.execute(("chmod +x '%s/bin/own'"):format(folder.path))
    assert.same({ "in", "none" }, { wrote(folder, { env = env .. " SKILLRT_AGENT=own" }) })
    config(folder, { agents = json.null })
    os.execute(("mkdir -p '%s/.config/skillrt'"):format(folder.home))
    R.write(folder.home .. "/.config/skillrt/config.json", '{"agent": {"kind": "command", "argv": ["own"], "parse": "json"}}')
    assert.same({ "in", "none" }, { wrote(folder, { env = env }) })
  end)

  it("a server of a folder's .mcp.json has, too; a script's own has not", function()
    local folder <close> = new_folder()
    page(folder)
    folder.file("p/.mcp.json", '{"mcpServers": {"one": {"command": "x", "sandbox_default": "off"}}}')
    local skill = assert(skillrt.load(folder.path .. "/p", { agent = "cat" }))
    assert.equal("strict", skill.mcp.one.sandbox_default.level)
    local own = skillrt.skill { name = "own", dir = folder.path .. "/p", mcp = ".mcp.json",
      actions = { { id = "a", run = print } } }
    assert.is_nil(own.mcp.one.sandbox)
  end)

  it("a coding agent that a word chooses works, keeps its session and reaches its login, and nothing that runs later", function()
    if not works() then return end
    local folder <close>, env = new_folder()
    page(folder)
    assert.same({ "read login page proxy; made x", "work" }, { said(folder, { env = env }) })
    assert.same({ "read login key page; made out settings.json .claude.json x", "none" },
      { said(folder, { env = env .. " SKILLRT_SANDBOX=off" }) })
    assert.same({ "read login page proxy; x", "strict" }, { said(folder, { env = env, "--sandbox", "strict" }) })
    -- its own is on
    R.write(folder.home .. "/.claude/settings.json", '{"sandbox": {"enabled": true}}')
    assert.same("none", select(2, said(folder, { env = env })))
  end)

  it("Codex in ours has its own off, which cannot work there, and where it only reads it writes nothing", function()
    if not works() then return end
    local folder <close>, env = new_folder()
    page(folder)
    folder.file("bin/codex", [[#!/bin/sh
cat >/dev/null
echo changed 2>/dev/null > made
printf '{"type":"item.completed","item":{"type":"agent_message","text":"read"}}\n{"type":"turn.completed","usage":{}}\n'
printf '%s\n' "$@" > "${HOME}/.codex/log/args"
]])
    os.execute(("chmod +x '%s/bin/codex'"):format(folder.path))
    local function has(level, tools)
      page(folder, tools)
      local out, recorded = said(folder, { env = env, agent = "codex", "--trust", "--sandbox", level })
      return out:match ";(.*)", recorded, R.read(folder.home .. "/.codex/log/args"):match "%-%-sandbox\n([%w-]+)\n"
    end
    os.execute(("mkdir -p '%s/.codex/log'"):format(folder.home))
    assert.same({ " made", "none", "workspace-write" }, { has("off", "allowed-tools: Read, Write\n") })
    assert.same({ " made", "work", "danger-full-access" }, { has("work", "allowed-tools: Read, Write\n") })
    assert.same({ "", "work", "danger-full-access" }, { has("work", "allowed-tools: Read\n") })
  end)

  it("a script's own coding agent is as the script says", function()
    local own = skillrt.agent.claude { program = "/bin/true" }
    assert.is_nil(own.sandbox_default)
    local task = { store = { path = function() return "/x" end }, dir = "/x" }
    local function default_of(definition)
      local agent = assert(require("skillrt.agent").check(definition, "agent"))
      local sandbox = agent:request(task, "text", {}).sandbox_default
      return sandbox and sandbox.level
    end
    assert.equal("work", default_of { kind = "claude" })
    assert.equal("off", default_of { kind = "codex" }) -- it has its own
    assert.equal("work", default_of { kind = "codex", permission = "danger-full-access" })
    assert.equal("work", default_of { kind = "codex", args = { "--dangerously-bypass-approvals-and-sandbox" } })
    assert.equal("work", default_of { kind = "gemini" })
    assert.equal("off", default_of { kind = "gemini", args = { "--sandbox" } })
  end)

  it("the node of a workflow script is in one, too", function()
    if not works() then return end
    local folder <close>, env = new_folder()
    folder.file("flow.js", "export const meta = { name: 'flow', description: 'd' }\nreturn await agent('x')\n")
    folder.file("cat", "#!/bin/sh\nexec cat\n")
    os.execute(("chmod +x '%s/cat'"):format(folder.path))
    local run = kit.run(folder, { "run", "flow.js", "--trust", "--agent", "./cat", "--work-dir", "run", env = env })
    assert.equal(0, run.code, run.err .. run.out)
    local calls = R.records(folder.path .. "/run", "call")
    local seen = {}
    for _, call in ipairs(calls) do
      seen[call.kind] = (call.sandbox or "none"):match "%a+"
    end
    assert.same({ session = "strict", command = "none" }, seen)
  end)
end)

describe("a document", function()
  after_each(R.clean)

  it("says the sandbox of its programs in its front matter, and its person is asked about that", function()
    if not works() then return end
    local folder <close>, env = new_folder()
    for _, case in ipairs {
      { "sandbox: strict\n", "read login page proxy; x", "strict" },
      { "sandbox:\n  write: [" .. folder.home .. "/out, .]\n", "read login page proxy; made out x", "strict",
        "sandbox of its programs: strict; write " .. folder.home .. "/out, ." },
      { "sandbox: off\n", "read login key page; made out settings.json .claude.json x", "none", "sandbox of its programs: off" },
    } do
      R.write(folder.home .. "/out", "")
      R.write(folder.home .. "/.claude/settings.json", "{}\n")
      page(folder, case[1])
      local asked = kit.run(folder, { "run", "p", "--agent", "claude", env = env, "--", "look" })
      assert.equal(case[4] and 8 or 0, asked.code, asked.err) -- strict alone grants nothing
      assert.truthy(asked.err:find(case[4] or "", 1, true), asked.err)
      assert.same({ case[2], case[3] }, { said(folder, { env = env, "--trust" }) })
    end
    page(folder, "sandbox: everything\n")
    local refused = kit.run(folder, { "run", "p", "--agent", "claude", "--trust", env = env, "--", "look" })
    assert.truthy(refused.code ~= 0)
    assert.truthy((refused.err .. refused.out):find('field "level" must be one of strict, work, off', 1, true), refused.err)
  end)

  it("that is an agent.yml or a command's page says it as well", function()
    local folder <close> = new_folder()
    folder.file("agent.yml", "name: y\nsandbox: strict\nskills:\n  - name: a\n    tools: [Read]\n")
    folder.file("go.md", "---\ndescription: Goes.\nallowed-tools: Read\nsandbox: work\n---\n\nGo on.\n")
    assert.equal("strict", assert(skillrt.load(folder.path .. "/agent.yml", { agent = "cat" })).sandbox.level)
    assert.equal("work", assert(skillrt.load(folder.path .. "/go.md", { agent = "cat" })).sandbox.level)
  end)

  it("shows what each of its programs may reach where nothing is said of it", function()
    local folder <close>, env = new_folder()
    config(folder)
    folder.file("s/.mcp.json", '{"mcpServers": {"one": {"command": "x"}}}')
    local asked = kit.run(folder, { "run", "s", env = env })
    assert.equal(8, asked.code, asked.err)
    assert.truthy(asked.err:find("agent looker: starts sh .-, sandbox: strict\n"), asked.err)
    config(folder, { sandbox = { network = { "a.example.com" } } })
    asked = kit.run(folder, { "run", "s", env = env })
    assert.truthy(asked.err:find("agent looker: starts sh .-, sandbox: strict; network a.example.com\n"), asked.err)
  end)
end)

describe("where no sandbox works", function()
  after_each(R.clean)
  local none = "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"' sh "
  if not os.execute(none .. "true 2>/dev/null") then
    pending "no user namespace can be made here"
    return
  end

  it("a workflow script runs without one, as its person approved it; that is said and recorded", function()
    local folder <close>, env = new_folder()
    folder.file("w.js", "export const meta = { name: 'w', description: 'd' }\nreturn await agent('Say hello.')\n")
    os.execute(("cd '%s' && env %s %s '%s' run w.js --agent %s --trust --work-dir w > told 2>&1"):format(folder.path, env,
      none, kit.program, kit.quoted '["echo", "hello"]'))
    local told = folder.read "told"
    assert.truthy(told:find("completed", 1, true), told)
    assert.equal(1, select(2, told:gsub("runs without a sandbox: none works here", "")), told)
    assert.truthy(kit.run(folder, { "log", "w", "--json", env = env }).out:find('"sandbox":"none works here"', 1, true))
    os.execute(("cd '%s' && env %s %s '%s' run w.js --agent %s --trust --sandbox strict --work-dir x > told 2>&1"):format(
      folder.path, env, none, kit.program, kit.quoted '["echo", "hello"]'))
    assert.truthy(folder.read "told":find("no sandbox works here", 1, true), folder.read "told")
  end)

  it("a document's program is refused, and how to continue is said; its person may run it without", function()
    local folder <close>, env = new_folder()
    config(folder)
    local function run(more)
      os.execute(("cd '%s' && env %s %s %s '%s' run s --trust --work-dir w%s > told 2>&1"):format(folder.path, env, more,
        none, kit.program, core.uuid()))
      return folder.read "told"
    end
    local told = run ""
    assert.is_nil(folder.read "made")
    assert.truthy(told:find("--sandbox off or SKILLRT_SANDBOX=off runs it without one", 1, true), told)
    run "SKILLRT_SANDBOX=off"
    assert.truthy(folder.read "made")
  end)
end)

describe("SKILLRT_SANDBOX", function()
  after_each(R.clean)

  it("that is misspelt is refused", function()
    local folder <close>, env = new_folder()
    config(folder)
    local run = kit.run(folder, { "run", "s", "--trust", env = env .. " SKILLRT_SANDBOX=none" })
    assert.truthy(run.code ~= 0)
    assert.truthy(run.err:find('SKILLRT_SANDBOX is "none"; it must be strict, work or off', 1, true), run.err)
  end)
end)
