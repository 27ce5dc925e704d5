-- workflow_moved_spec.lua: a workflow that was killed half way, and of which only the run's folder is left: on what is as
-- good as another machine (another home, another project, no script, no agent's page, no session) it is resumed, and what
-- was answered is not asked again, by the count of the server; what an edited or a moved script is then.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local META <const> = "export const meta = { name: '%s', description: 'is moved' }\n"
local SCRIPT <const> = META:format "moved" .. [[
const first = await workflow('inner', { name: 'one' })
const more = await parallel([
  () => agent('hello to two', { label: 'two' }),
  () => agent('hello to three', { label: 'three', agentType: 'greeter' }),
  () => agent('hello to four', { label: 'four', agentType: 'tools:greeter' }),
])
return [first, ...more, await workflow('deep/inner.js', { name: 'five' })]
]]
local INNER <const> = META:format "inner" .. "return await agent('hello to ' + args.name)\n"
local PAGE <const> = "---\nname: greeter\ntools: Read\n---\nYou are the greeter %s.\n"

local function until_true(what, get)
  for _ = 1, 6000 do
    if get() then
      return
    end
    os.execute "sleep 0.01"
  end
  error(what .. " did not come")
end

local function put(folder, name, text)
  assert(os.execute(("mkdir -p '%s'"):format((folder.path .. "/" .. name):match "^(.*)/")))
  folder.file(name, text)
end

-- How often the server was asked for each.
local function counts(folder)
  local out = {}
  for name in (folder.read "asked" or ""):gmatch "(%w+) %w+\n" do
    out[name] = (out[name] or 0) + 1
  end
  return out
end

local function words_of(folder, home, ...)
  local words = { ... }
  words.env = ("HOME='%s/%s' XDG_STATE_HOME='%s/%s' ANTHROPIC_API_KEY=right ANTHROPIC_BASE_URL=http://127.0.0.1:%s"):format(
    folder.path, home, folder.path, home, folder.read "port":match "%d+")
  return words
end

-- A server, a project whose workflow is killed when all but two have answered; what is left of it is in `there/run`.
local function killed(folder, is_absolute)
  local server = assert(io.popen(("node tests/support/model_server.js '%s'"):format(folder.path), "w"))
  until_true("the server", function() return folder.read "port" end)
  put(folder, "a/project/flows/moved.js", SCRIPT)
  put(folder, "a/project/.claude/workflows/inner.js", INNER)
  put(folder, "a/project/flows/deep/inner.js", INNER)
  put(folder, "a/project/.claude/agents/greeter.md", PAGE:format "of the project")
  put(folder, "a/home/tools/agents/greeter.md", PAGE:format "of a plugin")
  put(folder, "a/home/.claude/plugins/installed_plugins.json",
    ('{"plugins":{"tools@here":[{"installPath":"%s/a/home/tools"}]}}'):format(folder.path))
  put(folder, "there/home/x", "")
  folder.file("mode.two", "hold")
  local project = { path = folder.path .. "/a/project", file = folder.file }
  local run = kit.start(project, words_of(folder, "a/home", "run",
    is_absolute and project.path .. "/flows/moved.js" or "flows/moved.js", "--trust", "--agent", "anthropic",
    "--work-dir", "r"))
  until_true("all but two", function()
    local text = kit.read(project.path .. "/r/journal/00000001.sj") or ""
    return text:find "Hello, three" and text:find "Hello, four" and (folder.read "asked" or ""):find "two hold"
  end)
  os.execute("kill -9 " .. kit.read(project.path .. "/r/run.lock"):match "^%d+")
  run.wait()
  assert(os.execute(("mv '%s/r' '%s/there/run'"):format(project.path, folder.path)))
  folder.file("mode.two", "ok")
  return server
end

local function resumed(folder, ...)
  return kit.run({ path = folder.path .. "/there", file = function(name, text)
    folder.file("there/" .. name, text)
    return folder.path .. "/there/" .. name
  end }, words_of(folder, "there/home", "resume", "run", "--trust", ...))
end

local DONE <const> = { "Hello, one.", "Hello, two.", "Hello, three.", "Hello, four.", "Hello, five." }

describe("a workflow of which only the run's folder is left", function()
  after_each(R.clean)

  for what, is_absolute in pairs { ["a relative path"] = false, ["an absolute path"] = true } do
    it("is resumed on another machine, begun by " .. what .. ": what was answered is not asked again", function()
      local folder <close> = kit.folder()
      local _ <close> = killed(folder, is_absolute)
      assert(os.execute(("rm -rf '%s/a'"):format(folder.path)))
      local seen = resumed(folder)
      assert.equal(0, seen.code, seen.out .. seen.err)
      assert.same(DONE, { table.unpack(json.decode(folder.read "there/run/state.json").result) })
      assert.same({ one = 1, two = 2, three = 1, four = 1, five = 1 }, counts(folder)) -- two was never answered
      assert.matches("a/project/flows/moved.js is gone; its copy ", seen.out, 1, true)
    end)
  end

  -- It answers in a wrong form; asked for a better one in its session, it waits for `go`. Its sessions are in its home.
  local CLAUDE <const> = [[#!/bin/sh
p=$(cat); cd "${0%/*}"; echo "$*" >> args
case "$*" in *--resume*) [ -e "$HOME/session" ] || { echo "No conversation found with session ID: s1" >&2; exit 1; }
  touch begun; while [ ! -e go ]; do sleep 0.02; done;;
*"could not be read"*) ;; *) touch "$HOME/session";; esac
case "$p" in *"could not be read as"*"wrong form"*) said='{\"n\":1}';; *) said="wrong form";; esac
printf '{"type":"system","session_id":"s1"}\n{"type":"result","subtype":"success","session_id":"s1","result":"%s"}\n' "$said"]]

  it("asks an agent whose session is not there in a new one, with all that it needs", function()
    local folder <close> = kit.folder()
    put(folder, "a/tried.js", META:format "tried" .. [[
      return await agent('work', { tools: ['Read'], schema: { type: 'object', required: ['n'] } })]])
    put(folder, "home/x", "")
    put(folder, "other/x", "")
    folder.file("claude", CLAUDE)
    os.execute(("chmod +x '%s/claude'"):format(folder.path))
    local function env(home)
      return ("HOME='%s/%s' XDG_STATE_HOME='%s' SKILLRT_SANDBOX=off PATH='%s':$PATH"):format(folder.path, home, folder.path,
        folder.path)
    end
    local run = kit.start(folder, { "run", "a/tried.js", "--trust", "--agent", "claude", "--work-dir", "a/r", env = env "home" })
    until_true("the repair", function() return folder.read "begun" end)
    os.execute("kill -9 " .. folder.read "a/r/run.lock":match "^%d+")
    run.wait()
    folder.file("go", "")
    assert(os.execute(("cd '%s' && mv a/r there && rm -rf a"):format(folder.path)))
    local seen = kit.run(folder, { "resume", "there", "--trust", "--decide", "retry", env = env "other" })
    assert.equal(0, seen.code, seen.out .. seen.err)
    assert.equal(1, json.decode(folder.read "there/state.json").result.n)
    assert.matches("session s1 was not found on this machine; a new one gets the whole task", seen.out, 1, true)
    local resumed_in = {}
    for line in folder.read "args":gmatch "[^\n]+" do
      resumed_in[#resumed_in + 1] = line:find("--resume s1", 1, true) ~= nil
    end
    assert.same({ false, true, true, false }, resumed_in) -- the work itself is asked for once
  end)

  -- A workflow that failed at its second agent, in `w`; its run is in `r`.
  local function failed(folder)
    put(folder, "w/tried.js", META:format "tried" .. "return [await agent('say a'), await agent('fail')]\n")
    folder.file("agent.sh", 'p=$(cat); echo "$p" >> asked; [ "$p" = "${p%fail}" ] || [ -e mended ] || exit 3; echo done')
    local run = kit.run(folder, { "run", "w/tried.js", "--trust", "--agent", '["sh","agent.sh"]', "--work-dir", "r" })
    assert.equal(1, run.code, run.err)
    folder.file("mended", "")
    return function(...)
      return kit.run(folder, { "resume", "r", "--trust", ... }), select(2, (folder.read "asked"):gsub("say a", ""))
    end
  end

  it("uses the copy of a script that was moved, and says so; one that was edited is a changed script", function()
    local folder <close> = kit.folder()
    local resume = failed(folder)
    assert(os.rename(folder.path .. "/w", folder.path .. "/v"))
    local copy = folder.read "r/workflow/tried.js"
    folder.file("r/workflow/tried.js", (copy:gsub("'fail'", "'fail now'")))
    local seen, asked = resume()
    assert.matches("changed since the run began: tried.js", seen.err, 1, true)
    assert.same({ 8, 1 }, { seen.code, asked })
    folder.file("r/workflow/tried.js", copy)
    seen, asked = resume()
    assert.same({ 0, 1 }, { seen.code, asked }, seen.err)
    assert.matches("[Orchestrator] the script ", seen.out, 1, true)
    assert.matches("w/tried.js is gone; its copy ", seen.out, 1, true)
  end)

  it("does not use the copy while a script is at the old place, whatever that is now", function()
    local folder <close> = kit.folder()
    local resume = failed(folder)
    put(folder, "w/tried.js", META:format "tried" .. "return [await agent('say a'), await agent('fail'), 1]\n")
    local seen, asked = resume()
    assert.matches("changed since the run began: tried.js", seen.err, 1, true)
    assert.same({ 8, 1 }, { seen.code, asked })
    seen, asked = resume "--accept-changes"
    assert.same({ 0, 1 }, { seen.code, asked }, seen.err)
    assert.falsy(seen.out:find("its copy", 1, true))
    assert.equal(1, json.decode(folder.read "r/state.json").result[3])
  end)
end)
