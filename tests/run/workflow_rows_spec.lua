-- workflow_rows_spec.lua: workflow scripts that are stopped, skipped in part or resumed where there is nothing, and
-- agents of different kinds in one script.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"
local stand_in = require "tests.support.stand_in"
local asked, load = W.asked, W.load

describe("a workflow script", function()
  after_each(R.clean)

  it("that is stopped counts no agent as failed, and asks again those that were out (W19)", function()
    local folder, run = R.folder(), nil
    local body = "return await parallel([1, 2].map(i => () => agent('say ' + i)))"
    local function skill(before)
      local one = assert(load(folder, body))
      one.agents.default = skillrt.agent.command { "sh", "-c", before .. "; cat > /dev/null; echo x >> $0; echo done",
        folder .. "/agent.asked", stdin = "{prompt}", idempotent = true }
      return one
    end
    local slow = 'test -e "$0" || sleep 20'
    local watcher = { flush = function() end, observe = function(record)
      if record.t == "call" and record.kind == "command" and record.c:find "2" then run:stop() end
    end }
    do
      run = assert(require("skillrt.run.runner").begin(skill(slow), { work_dir = folder .. "/run", watcher = watcher }))
      local open <close> = run
      open:wait()
      assert.equal("paused", (open:status()))
    end
    R.write(folder .. "/agent.asked", "")
    local result = assert(skillrt.resume(folder .. "/run", { skill = skill(slow) }))
    assert.equal("completed", result.status, result.message)
    assert.same({ 2, 0, 0 }, { result.state.agents.asked, #result.state.agents.failed, result.state.agents.skipped })
    assert.equal(2, asked(folder))
  end)

  it("has null for the one agent that a person gave up, and goes on with the others (W19, W7)", function()
    local folder, copy = R.folder(), R.folder() .. "/cut"
    local function skill()
      local one = assert(load(folder, "return [await agent('say a'), await agent('say b')]"))
      one.agents.default.idempotent = false
      return one
    end
    assert(skill():run { work_dir = folder .. "/run" })
    for keep, record in ipairs(R.records(folder .. "/run")) do
      if record.t == "call" and record.kind == "command" then
        R.cut(folder .. "/run", copy, keep)
        break
      end
    end
    R.write(folder .. "/agent.asked", "")
    local result = assert(skillrt.resume(copy, { skill = skill() }))
    assert.same({ "needs_decision", 0 }, { result.reason, asked(folder) })
    result = assert(skillrt.resume(copy, { skill = skill(), decide = "skip" }))
    assert.equal("completed", result.status, result.message)
    assert.same({ json.null, "b" }, { table.unpack(result.state.result, 1, 2) })
    assert.same({ 2, 0, 1 }, { result.state.agents.asked, #result.state.agents.failed, result.state.agents.skipped })
  end)

  it("is not begun by a resume of nothing; one that is over asks nobody again (W20)", function()
    local _, dir, folder = W.run "return await agent('say a')"
    assert.equal(1, asked(folder))
    local skill = assert(skillrt.load(folder .. "/tried.js", { agent = W.agent(folder) }))
    local result, message = skillrt.resume(dir, { skill = skill })
    assert.same({ nil, 1 }, { result, asked(folder) })
    assert.matches("there is nothing to resume", message)
    local seen = kit.run({ path = folder }, { "resume", "nothing" })
    assert.equal(2, seen.code)
    assert.is_nil(R.exists(folder .. "/nothing/journal/00000001.sj") or nil)
  end)

  it("has agents that ask nobody: one that asks instead of an answer gave none, and its question is told (W24)", function()
    local folder = R.folder()
    local skill = assert(load(folder, "return await agent('do it')"))
    local program = stand_in.new(R, "claude", { (assert(R.read "tests/support/streams/claude_good.jsonl")
      :gsub('"result":"Hello from the fake."', '"result":"NEEDS_CONTEXT: Which branch?"')) })
    skill.agents.default = skillrt.agent.claude { program = program.path }
    local result = assert(skill:run { work_dir = folder .. "/run" })
    assert.same({ "failed", "agents_failed" }, { result.status, result.reason })
    assert.matches("Which branch", result.state.agents.failed[1])
    assert.equal(1, program.calls())
    assert.same({}, R.records(folder .. "/run", "ask"))
  end)

  it("may ask each time another agent; one that is not there throws, and no program of the script's runs (W29)", function()
    local folder = R.folder()
    local skill = assert(load(folder, [[
      const out = [await agent('say a'), await agent('say b', { agent: 'second' })]
      for (const agent_ of ['secnd', './evil', 'http://127.0.0.1:1']) {
        try { out.push(await agent('x', { agent: agent_ })) } catch (e) { out.push(e.message) }
      }
      return out
    ]]))
    skill.agents.second = skillrt.agent.command { "sh", "-c", "printf second" }
    local result = assert(skill:run { work_dir = folder .. "/run" })
    assert.equal("agents_failed", result.reason, result.message) -- three are not there
    assert.same({ "a", "second" }, { table.unpack(result.state.result, 1, 2) })
    assert.matches('agent "secnd" is not declared.*second', result.state.result[3])
    assert.matches("is not declared", result.state.result[4])
    assert.matches("is not declared", result.state.result[5])
  end)

  it("has agents of the hosts' own types: Explore and Plan only read, another one has to be there (W8, W35)", function()
    local folder = R.folder()
    local skill = assert(load(folder, [[
      for (const agentType of ['Explore', 'Plan', 'general-purpose']) await agent('look', { agentType, tools: ['Bash'] })
      try { await agent('look', { agentType: 'Explorer' }) } catch (e) { return e.message }
    ]]))
    for kind, reads in pairs { claude = "default %S+ Read,Grep,Glob,Read%b() %S+ Bash,Edit,MultiEdit,NotebookEdit,Write ",
      codex = " read%-only ", gemini = "%-mode default" } do
      local reply = assert(R.read(("tests/support/streams/%s_good.jsonl"):format(kind)))
      local program = stand_in.new(R, kind, { reply, reply, reply })
      skill.agents.default = skillrt.agent[kind] { program = program.path }
      local result = assert(skill:run { work_dir = folder .. "/" .. kind })
      assert.matches('agentType "Explorer": no agent of that name %(did you mean "Explore"', tostring(result.state.result), kind)
      for i = 1, 3 do
        local argv = program.of(i, "args"):gsub("\n", " ")
        assert.equal(i < 3, argv:find(reads) ~= nil, argv)
      end
    end
  end)

  it("goes on with the next of several agents where the limit of one is reached, and asks that one no more (W26)", function()
    local folder = R.folder()
    R.write(folder .. "/tried.js", W.META .. "const out = []\nfor (const i of [1, 2, 3]) out.push(await agent('say ' + i))\nreturn out")
    local limit = { code = 1, out =
      '{"type":"result","subtype":"success","is_error":true,"result":"You\'ve hit your usage limit","session_id":"s"}' }
    local reply = assert(R.read "tests/support/streams/codex_good.jsonl")
    local claude, codex = stand_in.new(R, "claude", { limit, limit }), stand_in.new(R, "codex", { reply, reply, reply })
    local env = ("SKILLRT_SANDBOX=off PATH=%s:%s:%s"):format(claude.folder, codex.folder, os.getenv "PATH")
    local seen = kit.run({ path = folder }, { "run", "tried.js", "--trust", "--agent", "claude,codex", "--print", env = env })
    assert.equal(0, seen.code, seen.err)
    assert.same({ 1, 3 }, { claude.calls(), codex.calls() })
    assert.equal(3, #assert(json.decode(seen.out)))
  end)
end)
