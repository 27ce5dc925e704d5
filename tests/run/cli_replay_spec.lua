-- cli_replay_spec.lua: `skillrt replay`: a run again from its journal, with the same skill and with changed ones.
local kit = require "tests.support.cli_kit"
local P = require "tests.support.providers"
local R = require "tests.support.runs"

-- Calls side by side and in rounds, what is drawn and kept, sub-runs, a retry, a question, an event, a limit.
local SKILL = [[
local skillrt = require "skillrt"
local inner = skillrt.skill { name = "inner", actions = { { id = "think", run = function(state, ctx)
  local reply = assert(ctx.await { kind = "command", argv = { "echo", tostring(state.input.n) } })
  return { got = math.tointeger(tonumber(reply.stdout)) }
end } } }
return skillrt.skill { name = "many", retry = { base = 0.01 }, limits = { calls = 7 }, schema = { order = "string[]" },
  agents = { writer = skillrt.agent.command { "./writer", stdin = "{prompt}", parse = "json" } },
  actions = {
    { id = "sizes", priority = 9, run = function(_, ctx)
      local now, order = ctx.now(), {}
      local id = ctx.once("id", function() return tostring({}) .. os.tmpname() end)
      assert(ctx.map({ 0.2, 0.1, 0 }, function(seconds)
        assert(ctx.await { kind = "command", argv = { "sleep", tostring(seconds) }, idempotent = true })
        order[#order + 1] = tostring(seconds)
      end))
      local v = ctx.loop(1, function(n) ctx.sleep(0.01) return n + math.random(3), n > 5 end)
      return { id = id, now = now, order = order, v = v, uuid = ctx.uuid(), at = os.time() }
    end },
    { id = "subs", priority = 8, run = function(_, ctx)
      return { list = ctx.map({ 1, 2 }, function(n) return assert(ctx.run(inner, { n = n })).state.got end) }
    end },
    { id = "flaky", priority = 7, run = function(_, ctx)
      local at = ctx.random(1000000)
      assert(ctx.await { kind = "command", argv = { "sh", "-c", "test -e flag || { touch flag; exit 75; }" }, idempotent = true })
      return { flaky = at, tries = ctx.attempt }
    end },
    { id = "ask", priority = 6, run = function(_, ctx)
      return { where = ctx.ask { question = "Where to?", options = { "here", "there" } },
        built = ctx.wait { event = "built" } }
    end },
    { id = "write", priority = 5, agent = "writer", prompt = "Write it now.", output = "letter.md" },
    { id = "fails", priority = 4, max_retries = 0, run = function() return nil, "no good" end },
  } }
]]

local WRITER = [[#!/bin/sh
out=$(sed -n 's/.*"\(\/[^"]*letter.md\)".*/\1/p' | head -n 1)
printf '%s\n' '{"status": "completed", "stateUpdates": {"written": true}, "output": "Dear all"}'
]]

-- The run of it: paused for a person, an event and a limit, and failed.
local function recorded(folder)
  folder.file("many.lua", SKILL)
  folder.file("writer", WRITER)
  os.execute("chmod +x " .. kit.quoted(folder.path .. "/writer"))
  assert.equal(3, kit.run(folder, { "many.lua", "--work-dir", "run", "--quiet" }).code)
  assert.equal(5, kit.run(folder, { "answer", "run", "there", "--quiet" }).code)
  kit.run(folder, { "send", "run", "built", '{"id": 7}' })
  assert.equal(10, kit.run(folder, { "resume", "run", "--quiet" }).code)
  assert.equal(1, kit.run(folder, { "resume", "run", "--quiet", "--add", "calls=5" }).code)
end

-- All files of a folder with their digests and times.
local function listing(path)
  return io.popen(("cd %s && find . -type f -printf '%%p %%T@\\n' | sort; find . -type f -exec sha256sum {} + | sort"):format(
    kit.quoted(path))):read "a"
end

local function replay(folder, ...)
  local result = kit.run(folder, { "replay", "run", ... })
  return result.code, result.out, result.err
end

-- A replay of the run with a changed skill.
local function changed(folder, from, to)
  local at, last = SKILL:find(from, 1, true)
  folder.file("changed.lua", SKILL:sub(1, at - 1) .. to .. SKILL:sub(last + 1))
  return replay(folder, "--skill", "changed.lua")
end

describe("skillrt replay", function()
  after_each(R.clean)
  local folder

  setup(function()
    folder = kit.folder()
    recorded(folder)
    os.remove(folder.path .. "/writer") -- nothing that was called is there any more
    os.remove(folder.path .. "/flag")
  end)
  teardown(function() getmetatable(folder).__close() end)

  it("answers all calls, sub-runs, rounds, retries, questions and events from the journal, and writes nothing there",
    function()
      local before = listing(folder.path .. "/run")
      local code, out, err = replay(folder)
      assert.equal(0, code, out .. err)
      assert.truthy(out:find("^same: %d+ steps, %d+ calls answered from the recording; failed %(error_limit%)")
        or out:find("^same: .*failed %(action_failed%)"), out)
      assert.equal(before, listing(folder.path .. "/run"))
      assert.is_nil(io.open(folder.path .. "/flag"))
    end)

  it("is the same as far as it goes wherever the journal ends: a run that was killed", function()
    local records = #R.records(folder.path .. "/run")
    for keep = 1, records, 4 do
      R.cut(folder.path .. "/run", folder.path .. "/cut", keep)
      local result = kit.run(folder, { "replay", "cut" })
      assert.equal(0, result.code, ("%d of %d: %s%s"):format(keep, records, result.out, result.err))
      os.execute("rm -rf " .. kit.quoted(folder.path .. "/cut"))
    end
  end)

  it("names the first call that is another one, and what is known of the difference: prompt, question, where it goes", function()
    local code, out = changed(folder, '"sleep", tostring(seconds)', '"sleep", "x" .. tostring(seconds)')
    assert.equal(1, code, out)
    assert.truthy(out:find("diverged at step 1 (sizes), call 2.1.1", 1, true), out)
    assert.truthy(out:find("now:      command sleep x0.2\n", 1, true), out)
    assert.truthy(out:find("nearest:  step 1 (sizes), call 2.1.1", 1, true), out)
    code, out = changed(folder, "Write it now.", "Write it later.")
    assert.equal(1, code)
    assert.truthy(out:find('its prompt, line %d+: "Write it now." %-> "Write it later."'), out)
    code, out = changed(folder, '"echo", tostring(state.input.n)', '"printf", tostring(state.input.n)')
    assert.equal(1, code)
    assert.truthy(out:find("echo -> printf", 1, true), out)
    code, out = changed(folder, "Where to?", "Where else?")
    assert.equal(1, code)
    assert.truthy(out:find("Where to?", 1, true) and out:find("Where else?", 1, true), out)
  end)

  it("names a step that is another one, one too many and one too few, and a call that the recording does not have",
    function()
      local _, out = changed(folder, 'id = "flaky"', 'id = "shaky"')
      assert.truthy(out:find("recorded: step flaky\n  now:      step shaky", 1, true), out)
      _, out = changed(folder, 'id = "flaky", priority = 7', 'id = "flaky", when = "never", optional = true, priority = 7')
      assert.truthy(out:find("recorded: step flaky\n  now:      step ask", 1, true), out)
      local code
      code, out = changed(folder, "local at = ctx.random(1000000)",
        'assert(ctx.await { kind = "command", argv = { "date" } }) local at = 1')
      assert.equal(1, code)
      assert.truthy(out:find("now:      command date", 1, true), out)
      assert.truthy(out:find("recorded: command sh", 1, true), out)
    end)

  it("says of a call that is made in another order where it is recorded", function()
    local _, out = changed(folder, "local at = ctx.random(1000000)", 'ctx.sleep(0) local at = 1')
    assert.truthy(out:find("diverged at step", 1, true), out)
    _, out = changed(folder, 'return { where = ctx.ask', 'local event = ctx.wait { event = "built" } return { event = event,'
      .. " where = ctx.ask")
    assert.truthy(out:find("the very call is recorded elsewhere", 1, true), out)
    assert.truthy(out:find("(ask), call 2", 1, true), out)
  end)

  it("tells what steps and the end came to that is not what they came to", function()
    local code, out = changed(folder, "flaky = at", "flaky = -at")
    assert.equal(1, code)
    assert.truthy(out:find("differs: step %d+ %(flaky%): ~ updates.flaky: %d+ %-> %-%d+\n"), out)
    code, out = changed(folder, '"no good"', '"no better"')
    assert.equal(1, code)
    assert.truthy(out:find("no good", 1, true) and out:find("no better", 1, true), out)
    local json = kit.run(folder, { "replay", "run", "--json" })
    assert.equal(0, json.code)
    assert.truthy(json.out:find('"same":true', 1, true), json.out)
  end)

  it("replays a run that is under way as far as it is recorded, one that was taken back up to there, no damaged one",
    function()
      folder.file("long.lua", [[return require("skillrt").skill { name = "long", actions = { { id = "a", run = function(_, ctx)
        ctx.await { kind = "command", argv = { "echo", "x" } }
        ctx.await { kind = "command", argv = { "sleep", "30" } }
      end } } }]])
      local started <close> = kit.start(folder, { "long.lua", "--work-dir", "long", "--quiet" })
      assert.truthy(started)
      local live
      for _ = 1, 100 do
        live = kit.run(folder, { "replay", "long" })
        if live.out:find("1 call answered", 1, true) then
          break
        end
        os.execute "sleep 0.05"
      end
      assert.equal(0, live.code, live.out .. live.err)
      assert.truthy(live.out:find("note: the run is under way", 1, true), live.out)
      assert.truthy(live.out:find("the recording ends in step 1 (a)", 1, true), live.out)
      os.execute(("cp -r %s/run %s/back"):format(kit.quoted(folder.path), kit.quoted(folder.path)))
      assert.equal(0, kit.run(folder, { "rollback", "back", "--to", "5" }).code)
      local back = kit.run(folder, { "replay", "back" })
      assert.equal(0, back.code, back.out .. back.err)
      assert.truthy(back.out:find("no replay goes beyond record %d+: it was taken back"), back.out)
      local path = folder.path .. "/back/journal/00000001.sj"
      local text = kit.read(path)
      R.write(path, text:sub(1, 1000) .. "!" .. text:sub(1002))
      local damaged = kit.run(folder, { "replay", "back" })
      assert.equal(7, damaged.code)
      assert.equal(2, kit.run(folder, { "replay", "nothing" }).code)
    end)

  it("replays phases side by side, outputs that agents wrote themselves, checks and repairs, from another folder", function()
    folder.file("phased.lua", [[
      local skillrt = require "skillrt"
      local function agent(seconds, writes)
        return skillrt.agent.command { "sh", "-c", "cat > /dev/null; sleep " .. seconds .. "; " .. (writes
          and "echo '{\"v\": 2}' > {work_dir}/b.json; echo '{\"status\":\"completed\"}'"
          or "echo '{\"status\":\"completed\",\"output\":{\"v\":1}}'"), stdin = "{prompt}", parse = "json" }
      end
      return skillrt.skill { name = "phased", protocol = true, retry = { base = 0.01 },
        agents = { slow = agent("0.2"), quick = agent("0", true) }, phases = {
        { id = "a", agent = "slow", prompt = "do a", parallel = true, output = "a.json" },
        { id = "b", agent = "quick", prompt = "do b", parallel = true, output = "b.json" },
        { id = "c", agent = "quick", prompt = "do c", input = { "a.json", "b.json" }, output = "b.json" },
        { id = "d", output = "d.json", repair = 9, run = function(state, ctx) return { of = state.outputs, at = ctx.attempt },
          { r = ctx.random(100) } end, validate = { check = function(_, _, ctx)
            if ctx.random() < 0.7 then return nil, "once more" end
            return true
          end } } } }]])
    local run = kit.run(folder, { "phased.lua", "--work-dir", "phased", "--quiet" })
    assert.truthy(run.code == 0 or run.code == 1, run.err) -- it may have had no luck
    os.execute(("mv %s/phased %s/away"):format(kit.quoted(folder.path), kit.quoted(folder.path)))
    local same = kit.run(folder, { "replay", "away" })
    assert.equal(0, same.code, same.out .. same.err)
    assert.truthy(same.out:find("3 calls answered", 1, true), same.out)
    assert.truthy(same.out:find(run.code == 0 and "completed (" or "failed (", 1, true), same.out)
  end)

  it("knows where the run was recorded: what it was answered may say so", function()
    local here <close> = kit.folder()
    here.file("says.lua", [[
      local skillrt = require "skillrt"
      local function says(ctx)
        local there = assert(ctx.await { kind = "command", argv = { "echo", "error in " .. ctx.work_dir .. "/a.c" } }).stdout
        return assert(ctx.await { kind = "command", argv = { "echo", "mend: " .. there } }).stdout
      end
      local inner = skillrt.skill { name = "inner", actions = { { id = "a", run = function(_, ctx)
        return { said = says(ctx) }
      end } } }
      return skillrt.skill { name = "says", actions = { { id = "a", run = function(_, ctx)
        return { said = says(ctx), inside = assert(ctx.run(inner)).state.said }
      end } } }]])
    assert.equal(0, kit.run(here, { "says.lua", "--work-dir", "w" }).code)
    local run = kit.run(here, { "replay", "w" })
    assert.equal(0, run.code, run.out .. run.err)
    assert.matches("^same: 2 steps, 4 calls answered", run.out)
  end)

  it("is the same where the script has another name, which an error said that was then sent", function()
    local here <close> = kit.folder()
    here.file("before.lua", [[return require("skillrt").skill { name = "s", actions = {
      { id = "a", priority = 2, optional = true, run = function() return nil, select(2, pcall(function() error "no" end)) end },
      { id = "b", run = function(state, ctx)
        ctx.await { kind = "command", argv = { "echo", state.errors[1].message } }
      end } } }]])
    assert.equal(0, kit.run(here, { "before.lua", "--work-dir", "w" }).code)
    assert(os.rename(here.path .. "/before.lua", here.path .. "/after.lua"))
    local run = kit.run(here, { "replay", "w", "--skill", "after.lua" })
    assert.equal(0, run.code, run.out .. run.err)
    assert.matches("1 call answered", run.out)
  end)

  it("gives what came at one time in the order in which it came: what was due then is no earlier", function()
    folder.file("ties.lua", [[
      return require("skillrt").skill { name = "ties", actions = { { id = "a", run = function(_, ctx)
        local order = {}
        local function command(name, seconds)
          return function()
            ctx.await { kind = "command", argv = { "sleep", seconds }, idempotent = true }
            order[#order + 1] = name
            for _ = 1, name == "first" and 4e7 or 0 do end -- the others come meanwhile
          end
        end
        ctx.all { command("first", "0"), command("second", "0.04"), command("third", "0.06"), function()
          ctx.sleep(0.08)
          order[#order + 1] = "sleep"
        end }
        return { order = order }
      end } } }]])
    assert.equal(0, kit.run(folder, { "ties.lua", "--work-dir", "ties", "--quiet" }).code)
    local same = kit.run(folder, { "replay", "ties" })
    assert.equal(0, same.code, same.out .. same.err)
  end)

  it("replays a model that uses tools, without its server and without its key; a tool is not performed again", function()
    local server = R.server "/echo\n"
    local script = [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "tooled", agents = { model = skillrt.agent.anthropic { model = "m",
          url = os.getenv "ADDRESS" .. "/plan", key_env = "SOME_KEY" } },
        tools = { add = { description = "Adds", input = { type = "object", properties = { a = { type = "number" } } },
          run = function(input)
            local file <close> = io.open("performed", "a")
            file:write("x")
            return { sum = input.a + 1 }
          end } },
        actions = { { id = "a", agent = "model", prompt = "add it up", tools = { "add" } } } }]]
    folder.file("tooled.lua", script)
    R.write(folder.path .. "/first", P.bytes(P.anthropic({ { type = "tool_use", id = "t1", name = "add",
      input = { a = 1 } } }, { stop_reason = "tool_use" })))
    R.write(folder.path .. "/second", P.bytes(P.anthropic('{"status":"completed","stateUpdates":{"ok":true}}')))
    server.plan(("/raw?file=%s/first\n/raw?file=%s/second\n"):format(folder.path, folder.path))
    local run = kit.run(folder, { "tooled.lua", "--work-dir", "tooled", "--quiet",
      env = "SOME_KEY=abc ADDRESS=" .. server.url })
    server.stop()
    assert.equal(0, run.code, run.out .. run.err)
    local env = "ADDRESS=" .. server.url
    local same = kit.run(folder, { "replay", "tooled", env = env })
    assert.equal(0, same.code, same.out .. same.err)
    assert.truthy(same.out:find("2 calls answered", 1, true), same.out)
    assert.equal("x", folder.read "performed")
    folder.file("other.lua", (script:gsub("add it up", "add it down")))
    local other = kit.run(folder, { "replay", "tooled", "--skill", "other.lua", env = env })
    assert.truthy(other.out:find("diverged at step 1 (a), call 1", 1, true), other.out)
    assert.truthy(other.out:find("add it up", 1, true) and other.out:find("add it down", 1, true), other.out)
  end)

  it("replays a workflow script; a changed one is asked anew, and its first other agent is named", function()
    local flow = [[export const meta = { name: 'flow', description: 'asks three times' }
      const two = await parallel(['a', 'b'].map((w) => () => agent(`Say ${w}`, { label: w })))
      return agent(`Join ${two.join('-')}`)]]
    folder.file("flow.js", flow)
    folder.file("agent", "#!/bin/sh\necho \"said: $(tail -n 1)\"\n")
    os.execute("chmod +x " .. kit.quoted(folder.path .. "/agent"))
    local env = "XDG_STATE_HOME=" .. folder.path
    local run = kit.run(folder, { "run", "flow.js", "--trust", "--agent", "./agent", "--work-dir", "flow", "--quiet", env = env })
    assert.equal(0, run.code, run.out .. run.err)
    os.remove(folder.path .. "/agent")
    local same = kit.run(folder, { "replay", "flow", env = env })
    assert.equal(0, same.code, same.out .. same.err)
    assert.truthy(same.out:find("3 calls answered", 1, true), same.out)
    folder.file("other.js", (flow:gsub("Join", "Combine")))
    local other = kit.run(folder, { "replay", "flow", "--skill", "other.js", "--trust", env = env })
    assert.equal(1, other.code, other.out .. other.err)
    assert.truthy(other.out:find("it is asked anew", 1, true), other.out)
    assert.truthy(other.out:find('"Join ', 1, true) and other.out:find('"Combine ', 1, true), other.out)
    assert.truthy(other.out:find("2 calls answered", 1, true), other.out)
  end)
end)
