-- workflow_spec.lua: workflow scripts of JavaScript as people have them, run whole: what they may call, what
-- they return, what is said of wrong ones.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"
local asked, load, run, value_of, META = W.asked, W.load, W.run, W.value_of, W.META

describe("a workflow script", function()
  after_each(R.clean)

  it("asks agents one after the other; what it returns is the result (W2, W5, W12)", function()
    local result, dir = run [[
      const first = await agent('say one', { label: 'the first', phase: 'Begin' })
      phase('Second part')
      log('first was', first, { n: 1 })
      const second = await agent(`say ${first}two`)
      return { first, second, list: [1, 'x', null] }
    ]]
    assert.equal("completed", result.status, result.message)
    assert.same({ first = "one", second = "onetwo", list = json.array { 1, "x", json.null } }, result.state.result)
    local said = {}
    for _, record in ipairs(R.records(dir)) do
      said[#said + 1] = record.t == "note" and (record.title or record.text) or record.label
        and (record.phase or "-") .. ": " .. record.label
    end
    assert.same({ "Begin: the first", "Second part", 'first was one {"n":1}', "Second part: say onetwo" }, said)
  end)

  it("takes args: JSON behind --, else words, else the input, else undefined (W4)", function()
    assert.same({ a = { 1 } }, value_of("return args", { args = { '{"a":[1]}' } }))
    assert.same("plain words", value_of("return args", { args = { "plain words" } }))
    assert.same("what is the answer", value_of("return args", { args = { "what", "is", "the", "answer" } }))
    assert.same({ 1, 2 }, value_of("return args", { args = { "[1,", "2]" } }))
    assert.same("undefined", value_of "return typeof args")
  end)

  it("parallel is a barrier that never rejects; a branch that throws is null, and said (W9)", function()
    local result, dir = run [[
      return await parallel([
        () => agent('say a'),
        () => { throw new Error('thrown here') },
        async () => { await agent('say b'); return agent('say c') },
        () => 'no agent at all',
      ])
    ]]
    assert.same({ "a", json.null, "c", "no agent at all" }, { table.unpack(result.state.result, 1, 4) })
    assert.matches("null, because it threw: Error: thrown here", R.records(dir, "note")[1].text)
  end)

  it("pipeline takes each item through its stages at its own pace, results in order (W10)", function()
    assert.same({ { "A", "a!0" }, json.null, { "C", "c!2" } }, { table.unpack(value_of [[
      return await pipeline(['a', 'b', 'c'],
        (item) => { if (item === 'b') throw new Error('no'); return agent('say ' + item) },
        (said, item, index) => [item.toUpperCase(), `${said}!${index}`])
    ]], 1, 3) })
  end)

  it("Promise.all and functions of its own are as good (W2)", function()
    assert.same({ "1", "2", "3" }, { table.unpack(value_of [[
      async function both(a, b) { return Promise.all([agent('say ' + a), agent('say ' + b)]) }
      const [x, y] = await both(1, 2)
      return [x, y, await agent('say 3')]
    ]], 1, 3) })
  end)

  it("refuses more than 4,096 items, loudly (W11)", function()
    assert.matches("RangeError: parallel: 4097 items, at most 4096", value_of
      "try { await parallel(Array(4097).fill(() => 1)) } catch (e) { return String(e) }")
  end)

  it("gets a value that fits its schema, or is told what was wrong; a schema that cannot be throws first (W5, W6)", function()
    local schema = "{ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }"
    local result, _, folder = run(([[
      const schema = %s
      const good = await agent('repeat {"n": 7}', { schema })
      let bad, wrong
      try { bad = await agent('repeat {"n": "x"}', { schema }) } catch (e) { bad = 'threw: ' + e.message }
      try { await agent('never', { schema: { type: 'nothing' } }) } catch (e) { wrong = e.message }
      return { good, bad, wrong }
    ]]):format(schema))
    local got = result.state.result
    assert.equal("agents_failed", result.reason, result.message) -- though the script caught what they threw
    assert.equal(2, #result.state.agents.failed)
    assert.same({ n = 7 }, got.good)
    assert.matches("^threw: .*n must be", got.bad)
    assert.matches("schema", got.wrong)
    assert.equal(7, asked(folder)) -- once, and once and five times for the form; never for what cannot be
  end)

  it("names every agent that gave no result, though parallel made null of what they threw", function()
    local result = run([=[
      const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
      const all = await parallel(['a', 'b', 'c'].map(label => () => agent('repeat {"n": "x"}', { label, schema })))
      return all.filter(Boolean).length
    ]=])
    assert.same({ "failed", "agents_failed", 0 }, { result.status, result.reason, result.state.result })
    assert.equal(3, #result.state.agents.failed)
    local failed = table.move(result.state.agents.failed, 1, 3, 1, {})
    table.sort(failed)
    for i, label in ipairs { "a", "b", "c" } do
      assert.matches("^" .. label .. " %(1/" .. i .. "/1%): .*n must be", failed[i])
    end
  end)

  it("has null for an agent that failed; the run does not end as if all were well (W7, W26)", function()
    local result = run "return (await parallel([() => agent('say a'), () => agent('fail', { label: 'weak' })])).filter(Boolean)"
    assert.same({ "failed", "agents_failed" }, { result.status, result.reason })
    assert.same({ "a" }, { table.unpack(result.state.result) })
    assert.equal(2, result.state.agents.asked)
    assert.matches("^weak %(1/2/1%): .*exited with 3", result.state.agents.failed[1])
    assert.matches("^1 of 2 agents gave no result: weak %(1/2/1%): .*exited with 3", result.message)
  end)

  it("has 16 agents out at once, and no more (W15)", function()
    local folder = R.folder()
    local skill = assert(load(folder, "await parallel([...Array(40).keys()].map(i => () => agent('say ' + i)))"))
    local together = "touch $0.$$; i=0; while [ $(ls $0.* | wc -l) -lt 16 ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done"
    skill.agents.default = skillrt.agent.command { "sh", "-c", together .. "; echo ok", folder .. "/n", idempotent = true }
    local dir = folder .. "/run"
    assert(skill:run { work_dir = dir, limits = { ask_above = 0 } })
    local now, most = 0, 0
    for _, record in ipairs(R.records(dir)) do
      if record.t == "call" and record.kind == "command" then
        now = now + 1
      elseif record.t == "result" and not record.c:find "start" and not record.c:find "2$" then
        now = now - 1
      end
      most = math.max(most, now)
    end
    assert.equal(16, most) -- the first wait for each other
  end)

  it("is told of an answer while the next agent works in its place (W15)", function()
    local skill = assert(load(R.folder(), "await parallel([() => agent('say a'), () => agent('say b')])"))
    skill.agents.default = skillrt.agent.command { "sleep", "0.3", idempotent = true }
    local dir = R.folder() .. "/run"
    assert(skill:run { work_dir = dir, limits = { max_agents_parallel = 1 } })
    local told, asked_at, over = {}, {}, {}
    for i, record in ipairs(R.records(dir)) do
      if record.t == "call" and record.kind == "session" then
        told[#told + 1] = i
      elseif record.t == "call" then
        asked_at[#asked_at + 1] = record.c
      elseif record.t == "result" then
        over[record.c] = i
      end
    end
    assert.is_true(told[2] < over[asked_at[2]], "it was told only when both had answered")
  end)

  it("has a budget of output tokens where the run has such a limit; without one it is no bound (W13, W33)", function()
    local body = [[
      const before = [budget.total, budget.spent(), budget.remaining()]
      await agent('say {"a": 1}', { schema: { type: 'object' } })
      return { before, after: [budget.spent(), budget.remaining()] }
    ]]
    local skill = assert(load(R.folder(), body))
    skill.agents.default = skillrt.agent.lua(function(_, ctx)
      ctx.used { tokens = 930, output_tokens = 30 }
      return { a = 1 }
    end)
    local result = assert(skill:run { work_dir = R.folder() .. "/run", limits = { ["usage.output_tokens"] = 100 } })
    assert.equal("completed", result.status, result.message)
    assert.same({ 100, 0, 100 }, { table.unpack(result.state.result.before) })
    assert.same({ 30, 70 }, { table.unpack(result.state.result.after) })
    assert.same({ json.null, 0, true }, { table.unpack(value_of
      "return [budget.total, budget.spent(), budget.remaining() === Infinity]") })
    assert.equal("asked", value_of "return budget.total && budget.remaining() < 9e4 ? 'none' : await agent('say asked')")
  end)

  it("is held by limits that the run is given: agents at once, agents in all (W15, W30)", function()
    local skill = assert(load(R.folder(), "return await parallel([1, 2, 3].map(i => async () => {"
      .. " try { return await agent('say ' + i) } catch (e) { return e.message } }))"))
    local result = assert(skill:run { work_dir = R.folder() .. "/run", limits = { max_agents = 2, max_agents_parallel = 1 } })
    assert.same({ "1", "2", "agent: 3 were asked for; the limit is 2" }, { table.unpack(result.state.result) })
    assert.same({ "agents_failed", 1 }, { result.reason, #result.state.agents.failed })
    local _, message = skill:run { work_dir = R.folder() .. "/run", limits = { max_agentz = 2 } }
    assert.matches("there is no limit \"max_agentz\".*max_agents", message)
  end)

  it("uses up calls by its agents, not by what is said to the script (W30)", function()
    local folder = R.folder()
    local body = "return [await agent('say a'), await agent('say b'), await agent('say c')]"
    local result = assert(assert(load(folder, body)):run { work_dir = folder .. "/run", limits = { calls = 2 } })
    assert.same({ "paused", "call_limit" }, { result.status, result.reason })
    assert.equal(2, asked(folder))
    result = assert(skillrt.resume(folder .. "/run", { skill = assert(load(folder, body)), add = { calls = 1 } }))
    assert.equal("completed", result.status, result.message)
    assert.equal(3, asked(folder))
  end)

  it("is kept with its run, as it was when the run was begun (W17)", function()
    local _, dir, folder = run "return 1"
    assert.equal(R.read(folder .. "/tried.js"), R.read(dir .. "/workflow/tried.js"))
  end)

  it("asks a person, while its agents go on; the run waits without a process (W24, W27)", function()
    local result, dir, folder = run [[
      const [said, choice] = await Promise.all([
        agent('say done'),
        ask({ header: 'Which', question: 'Which one?', options: [{ id: 'a', label: 'A' }, { id: 'b', label: 'B' }] }),
      ])
      return { said, choice, text: await ask('In your words?') }
    ]]
    assert.same({ "paused", "waiting_for_person" }, { result.status, result.reason })
    assert.equal(1, asked(folder))
    local again = assert(load(folder, R.read(folder .. "/tried.js"), { meta = "" }))
    result = assert(skillrt.resume(dir, { skill = again, answer = "b" }))
    assert.same({ "paused", "waiting_for_person" }, { result.status, result.reason }, result.message)
    result = assert(skillrt.resume(dir, { skill = again, answer = "so" }))
    assert.equal("completed", result.status, result.message)
    assert.same({ said = "done", choice = "b", text = "so" }, result.state.result)
    assert.equal(1, asked(folder))
  end)

  it("is thrown a question that is none, and may go on", function()
    local text = value_of "try { await ask({ question: 'Which?', options: 7 }) } catch (e) { return e.message }"
    assert.matches("^ask: .*options.*7$", text)
  end)

  it("waits where a usage limit is reached, and counts no agent as failed (W26)", function()
    local folder = R.folder()
    local program = require("tests.support.stand_in").new(R, "claude", { { code = 1, out =
      '{"type":"result","subtype":"success","is_error":true,"result":"You\'ve hit your session limit","session_id":"s"}' } })
    local function skill()
      local one = assert(load(folder, "return await agent('say a')"))
      one.agents.default = skillrt.agent.claude { program = program.path }
      return one
    end
    local result = assert(skill():run { work_dir = folder .. "/run" })
    assert.same({ "paused", "waiting_for_time" }, { result.status, result.reason }, result.message)
    assert.matches("^resumes automatically at .*: You've hit your session limit$", result.message)
    assert.equal(900000, R.records(folder .. "/run", "attempt")[1].retry)
    result = assert(skillrt.resume(folder .. "/run", { skill = skill() }))
    assert.equal("paused", result.status) -- it is not time yet
    assert.equal(1, program.calls())
  end)

  it("waits until a limit is over where that is known, whenever it is resumed (W26)", function()
    local folder = R.folder()
    local program = require("tests.support.stand_in").new(R, "claude", { { code = 1, out =
      ('{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|%d","session_id":"s"}')
        :format(os.time() + 5 * 3600) }, R.read "tests/support/streams/claude_good.jsonl" })
    local function skill()
      local one = assert(load(folder, "return await agent('say a')"))
      one.agents.default = skillrt.agent.claude { program = program.path }
      return one
    end
    local result = assert(skill():run { work_dir = folder .. "/run" })
    assert.same({ "paused", "waiting_for_time" }, { result.status, result.reason }, result.message)
    local due = R.records(folder .. "/run", "stop")[1].due
    assert.is_true(math.abs(due / 1000 - os.time() - 5 * 3600) < 60, due)
    for _ = 1, 2 do -- the words are read at another time, and mean the same
      result = assert(skillrt.resume(folder .. "/run", { skill = skill() }))
      assert.equal("waiting_for_time", result.reason, result.message)
      assert.equal(1, program.calls())
    end
    assert.is_true(math.abs(due - R.records(folder .. "/run", "stop")[3].due) < 1000)
  end)

  it("calls another, which shares its agents; one that is not there throws (W14)", function()
    local folder = R.folder()
    R.write(folder .. "/other.js", "export const meta = { name: 'other', description: 'd' }\nreturn [args, await agent('say deep')]")
    local skill = assert(load(folder, [[
      let missing
      try { await workflow('nowhere') } catch (e) { missing = e.message }
      return { of: await workflow('other', { x: 1 }), path: await workflow('./other.js'), missing }
    ]]))
    local result = assert(skill:run { work_dir = folder .. "/run" })
    assert.equal("completed", result.status, result.message)
    assert.same({ x = 1 }, result.state.result.of[1])
    assert.same({ "deep", "deep" }, { result.state.result.of[2], result.state.result.path[2] })
    assert.matches("workflow \"nowhere\": no such script", result.state.result.missing)
    assert.equal(2, result.state.agents.asked)
  end)
end)

describe("docs/write/workflows.md", function()
  after_each(R.clean)

  it("has a script that runs, by agents that ask nobody", function()
    local folder = R.folder()
    local script = R.read("docs/write/workflows.md"):match "```javascript\n(.-)```"
    R.write(folder .. "/review.js", script)
    local skill = assert(skillrt.load(folder .. "/review.js", { agent = { kind = "dry" } }))
    local result = assert(skill:run { work_dir = folder .. "/run", args = { '{"files": ["a.c", "b.c"]}' } })
    assert.equal("completed", result.status, result.message)
    assert.same({ 3, 0 }, { result.state.agents.asked, #result.state.agents.failed })
    local would = {}
    for _, record in ipairs(R.records(folder .. "/run", "note")) do
      would[#would + 1] = record.text
    end
    assert.same({ "would ask: Review a.c", "would ask: Review b.c", 'would ask: Judge: [{"bugs":["text"]},{"bugs":["text"]}]' },
      would)
  end)
end)

describe("a workflow script that is wrong", function()
  after_each(R.clean)

  it("is told so before anything runs: no meta, meta that is no literal, a syntax error with its line (W1, W16)", function()
    for _, case in ipairs {
      { "", "return 1", "is not a workflow script: it must begin with" },
      { "export const meta = { name: 'x' }\n", "", "meta.description must be a text" },
      { "export const meta = { name: 'x', description: f() }\n", "", "line 1: meta must be a plain literal, without f" },
      { "export const meta = { name: 'x', description: `a${1}` }\n", "", "no %${...}" },
      { META, "const a = 1\nconst b = = 2\n", "tried.js:3: Unexpected token '='" },
      { META, "import fs from 'fs'\n", "tried.js:2: Cannot use import statement outside a module" },
      { META, "})(); (async () => {", "tried.js:2" },
    } do
      local folder = R.folder()
      local skill, message = load(folder, case[2], { meta = case[1] })
      if skill then
        local result = assert(skill:run { work_dir = folder .. "/run" })
        assert.equal("script_error", result.reason)
        message = result.message
      end
      assert.matches(case[3], message, 1, true == case[4])
      assert.equal(0, asked(folder))
    end
  end)

  it("fails with the line where it threw", function()
    local result = run "const x = {}\n\nawait agent('say a')\nx.y.z()\n"
    assert.equal("script_error", result.reason)
    assert.matches("tried.js:5:%d+: TypeError: Cannot read properties of undefined", result.message)
  end)

  it("that waits for what never comes is ended", function()
    local result = run "await new Promise(() => {})"
    assert.matches("awaits a promise that never resolves", result.message)
  end)

  it("has no clock and no chance (W3)", function()
    local got = value_of [[
      const out = {}
      const tries = { now: () => Date.now(), date: () => new Date(), called: () => Date(), random: () => Math.random(),
        kept: () => new Date(0).constructor.now(), intl: () => new Intl.DateTimeFormat().format(),
        wait: () => Atomics.wait, timer: () => setTimeout(() => 1) }
      for (const [name, one] of Object.entries(tries)) { try { out[name] = one() } catch (e) { out[name] = 'threw' } }
      return { ...out, ok: new Date(86400000).toISOString() }
    ]]
    for _, name in ipairs { "now", "date", "called", "random", "kept", "intl", "wait", "timer" } do
      assert.equal("threw", got[name], name)
    end
    assert.equal("1970-01-02T00:00:00.000Z", got.ok)
  end)
end)

