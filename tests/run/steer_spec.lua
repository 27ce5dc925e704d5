-- steer_spec.lua: a person steers one agent of a run, while a process advances it and when it has ended: the agent is
-- skipped, asked again, told something more.
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local kit = require "tests.support.cli_kit"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

-- `hang` answers once `go` is there, or never; `fail` fails until `mended` is there; others say their last word.
local AGENT <const> = [[
p=$(cat); echo "${p##* }" >> asked
case "$p" in
  *hang*) while [ ! -e go ]; do sleep 0.02; done; echo free;;
  *fail*) [ -e mended ] || exit 3; echo mended;;
  *) echo "${p##* }";;
esac]]

local THREE <const> = W.META .. [[
return await parallel(['say a', 'hang', 'fail'].map(p => () => agent(p, { label: p.split(' ')[0] })))]]

-- As Claude Code: the first prompt is answered once `go` is there; in its session it repeats what it is told.
local CLAUDE <const> = [[#!/bin/sh
p=$(cat); echo "$@" >> args
case "$*" in *"--resume s1"*) said="heard $(echo "$p" | tr '\n' ' ')";;
 *) touch begun; while [ ! -e go ]; do sleep 0.02; done; said=first;; esac
printf '{"type":"system","session_id":"s1"}\n{"type":"result","subtype":"success","session_id":"s1","result":"%s"}\n' "$said"]]

local function asked(folder, name)
  return select(2, ("\n" .. (folder.read "asked" or "")):gsub("\n" .. name, ""))
end

local function until_there(folder, name)
  for _ = 1, 6000 do
    if folder.read(name) then
      return true
    end
    os.execute "sleep 0.01"
  end
  error(name .. " did not come")
end

local function started(folder)
  folder.file("agent.sh", AGENT)
  folder.file("tried.js", THREE)
  local run = kit.start(folder, { "run", "tried.js", "--trust", "--work-dir", "r", "--agent", '["sh","agent.sh"]' })
  assert.truthy(run.says "agent fail failed")
  for _ = 1, 6000 do -- and `say a` has answered: only `hang` is under way
    if (folder.read "r/journal/00000001.sj"):find('"body":"a', 1, true) then
      return run
    end
    os.execute "sleep 0.01"
  end
  error "say a was not answered"
end

-- How many records of a run there are up to the end of the batch that holds its last one of this type. What is left of a
-- batch that is cut in two is no part of the run.
local function through(dir, type)
  local count, found, whole = 0, false, nil
  for line in kit.read(dir .. "/journal/00000001.sj"):gmatch "[^\n]+" do
    if not line:find('{"t":"journal",', 1, true) then
      count = count + 1
      if line:find(('"t":"%s"'):format(type), 1, true) then
        found, whole = true, nil
      end
      whole = whole or found and line:match "^J1 %x+ %x+ %x+ 1 " and count
    end
  end
  return whole
end

local function result(folder)
  return json.decode(folder.read "r/state.json").result
end

describe("an agent of a run that a process advances", function()
  after_each(R.clean)

  it("is waited for without looks: a process that does nothing wakes nobody more than each second", function()
    local folder <close> = kit.folder()
    local run = started(folder)
    os.execute("kill -STOP " .. run.pid)
    local skip = kit.start(folder, { "skip", "r", "hang" })
    local function wakes(seconds)
      os.execute("sleep " .. seconds)
      local status = assert(R.read(("/proc/%d/status"):format(skip.pid)))
      return tonumber(status:match "voluntary_ctxt_switches:%s*(%d+)")
    end
    local before = wakes(2.5) -- looks have become rare
    local woken = wakes(2.5) - before
    os.execute("kill -CONT " .. run.pid)
    assert.same({ 0, 1 }, { skip.wait().code, run.wait().code })
    assert.truthy(woken <= 8, woken) -- 125 where it looks every 20 ms
  end)

  it("is skipped: its program ends, the script gets null, and no resume asks it again", function()
    local folder <close> = kit.folder()
    local run = started(folder)
    local seen = kit.run(folder, { "skip", "r", "hang" })
    assert.same({ 0, "" }, { seen.code, seen.err })
    assert.equal(1, run.wait().code)
    assert.same({ "a", json.null, json.null }, { table.unpack(result(folder), 1, 3) })
    assert.equal(1, #json.decode(folder.read "r/state.json").agents.failed)
    folder.file("mended", "")
    assert.equal(0, kit.run(folder, { "resume", "r" }).code)
    assert.same({ "a", json.null, "mended" }, { table.unpack(result(folder), 1, 3) })
    assert.equal(1, asked(folder, "hang"))
  end)

  it("is asked again: what it was doing ends first", function()
    local folder <close> = kit.folder()
    local run = started(folder)
    folder.file("agent.sh", "cat > /dev/null; echo asked >> second; echo second")
    assert.equal(0, kit.run(folder, { "again", "r", "hang" }).code)
    assert.equal(1, run.wait().code)
    assert.same({ "a", "second" }, { table.unpack(result(folder), 1, 2) })
    assert.equal("asked\n", folder.read "second")
  end)

  it("is not meant by a wrong name, nor told more where its kind holds no conversation: both are said at once", function()
    local folder <close> = kit.folder()
    local run = started(folder)
    local seen = kit.run(folder, { "skip", "r", "hnag" })
    assert.same({ 2, 'skillrt: r: no agent "hnag" can be steered now; there are: hang\n' }, { seen.code, seen.err })
    seen = kit.run(folder, { "tell", "r", "hang", "more" })
    assert.same({ 2, "skillrt: r: hang cannot be told more: sh is asked once, and holds no conversation\n" }, { seen.code, seen.err })
    folder.file("go", "")
    assert.equal(1, run.wait().code)
    assert.equal("free", result(folder)[2])
  end)

  it("is not meant by a wrong name in a run that is paused: that is said, and the run is not resumed", function()
    local folder <close> = kit.folder()
    local run = started(folder)
    run.signal "KILL"
    os.execute("kill -9 " .. folder.read "r/run.lock":match "^%d+")
    run.wait()
    local before = kit.read(folder.path .. "/r/journal/00000001.sj")
    for _, words in ipairs {
      { 'no agent "hnag" can be steered now; there are: hang', "skip", "r", "hnag" },
      { "hang cannot be told more: sh is asked once, and holds no conversation", "tell", "r", "hang", "more" },
    } do
      local seen = kit.run(folder, { table.unpack(words, 2) })
      assert.same({ 2, ("skillrt: r: %s\n"):format(words[1]) }, { seen.code, seen.err })
    end
    assert.equal(before, kit.read(folder.path .. "/r/journal/00000001.sj"))
    assert.is_nil(folder.read "r/journal/00000002.sj")
    assert.equal(1, kit.run(folder, { "skip", "r", "hang" }).code)
    assert.equal(json.null, result(folder)[2])
  end)

  it("that was steered is what the record says, wherever the run is cut behind it", function()
    for _, steer in ipairs { "skip", "again" } do
      local folder <close> = kit.folder()
      local run = started(folder)
      assert.equal(0, kit.run(folder, { steer, "r", "hang" }).code)
      folder.file("go", "")
      run.wait()
      local keep = through(folder.path .. "/r", "steer")
      local before = asked(folder, "hang")
      R.cut(folder.path .. "/r", folder.path .. "/cut", keep)
      assert.equal(1, kit.run(folder, { "resume", "cut" }).code)
      assert.equal(steer == "skip" and json.null or "free", json.decode(folder.read "cut/state.json").result[2])
      local calls = 0 -- of that agent, recorded behind the cut: each time that it is asked has its record
      for i, record in ipairs(R.records(folder.path .. "/cut")) do
        calls = calls + (i > keep and record.t == "call" and record.label == "hang" and 1 or 0)
      end
      assert.equal(steer == "again" and 1 or 0, calls)
      assert.equal(calls, asked(folder, "hang") - before)
    end
  end)

  it("is told more in its session once it has answered: the answer to that is what the script gets", function()
    local folder <close> = kit.folder()
    folder.file("claude", CLAUDE)
    os.execute(("chmod +x '%s/claude'"):format(folder.path))
    folder.file("tried.js", W.META .. "return [await agent('work', { label: 'worker' }), await agent('other')]")
    local run = kit.start(folder, { "run", "tried.js", "--trust", "--work-dir", "r", "--agent", "claude",
      env = ("PATH='%s':$PATH"):format(folder.path) })
    until_there(folder, "begun")
    assert.equal(0, kit.run(folder, { "tell", "r", "worker", "be brief" }).code)
    assert.equal(0, kit.run(folder, { "tell", "r", "worker", "in French" }).code)
    folder.file("go", "")
    assert.equal(0, run.wait().code)
    assert.same({ "heard be brief  in French ", "first" }, { table.unpack(result(folder), 1, 2) })
    local seen = kit.run(folder, { "tell", "r", "worker", "and now?", env = ("PATH='%s':$PATH"):format(folder.path) })
    assert.equal(0, seen.code, seen.err)
    assert.same({ "heard and now? ", "first" }, { table.unpack(result(folder), 1, 2) })
    assert.equal(4, select(2, folder.read "args":gsub("\n", ""))) -- the other agent keeps its answer
  end)
end)

describe("an agent under way", function()
  after_each(R.clean)

  it("is shown by status with the tokens and the money that it has used so far", function()
    local folder <close> = kit.folder()
    folder.file("claude", [[#!/bin/sh
cat > /dev/null; said=wrong
case "$*" in *--resume*) touch begun; while [ ! -e go ]; do sleep 0.02; done; said='{\"n\":1}';; esac
printf '{"type":"result","subtype":"success","session_id":"s1","result":"%s","total_cost_usd":0.25,' "$said"
echo '"usage":{"input_tokens":1000,"output_tokens":500}}']])
    os.execute(("chmod +x '%s/claude'"):format(folder.path))
    folder.file("tried.js", W.META .. "return await agent('work', { label: 'worker', schema: { type: 'object', required: ['n'] } })")
    local run = kit.start(folder, { "run", "tried.js", "--trust", "--work-dir", "r", "--agent", "claude",
      env = ("PATH='%s':$PATH"):format(folder.path) })
    until_there(folder, "begun")
    assert.matches("worker  claude  1.5k tokens  $0.25", kit.run(folder, { "status", "r" }).out, 1, true)
    local shown = json.decode(kit.run(folder, { "status", "r", "--json" }).out).open[1].agents[1]
    assert.same({ 1500, 0.25 }, { shown.tokens, shown.dollars })
    folder.file("go", "")
    assert.equal(0, run.wait().code)
  end)
end)

describe("an agent of a run that has ended", function()
  after_each(R.clean)

  local BODY <const> = [[
    const all = await parallel(['say a', 'fail 1', 'fail 2'].map((p, i) => () => agent(p, { label: 'n' + i })))
    return [...all, await agent('say ' + all[0] + '!', { label: 'last' })] ]]

  local function ended()
    local folder = R.folder()
    local skill = assert(W.load(folder, BODY))
    local dir = folder .. "/run"
    local first = assert(skill:run { work_dir = dir })
    assert.same({ "failed", 4 }, { first.status, W.asked(folder) })
    return function(steer, agent)
      return skillrt.resume(dir, { skill = skill, steer = { steer = steer, agent = agent } })
    end, folder
  end

  it("that failed is skipped: null is its result from then on, and it is no failure", function()
    local steer, folder = ended()
    local second = assert(steer("skip", "n1"))
    assert.same({ "failed", 5, 1 }, { second.status, W.asked(folder), second.state.agents.skipped }) -- n2 is asked again
    second = assert(steer("skip", "n2"))
    assert.same({ "completed", 5, 2 }, { second.status, W.asked(folder), second.state.agents.skipped })
    assert.same({ "a", json.null, json.null, "a!" }, { table.unpack(second.state.result, 1, 4) })
  end)

  it("is asked again, and what depends on its answer; others keep theirs", function()
    local steer, folder = ended()
    assert(steer("skip", "n1"))
    assert(steer("skip", "n2"))
    local before = W.asked(folder)
    local third = assert(steer("again", "n0"))
    assert.same({ "completed", before + 1 }, { third.status, W.asked(folder) }) -- its answer is as before: so is the last
    local none, why = steer("skip", "n0")
    assert.is_nil(none)
    assert.matches("n0 has answered; only an agent that failed", why)
    none, why = steer("again", "n9")
    assert.is_nil(none)
    assert.matches('no agent "n9" can be steered now; there are: last, n0, n1, n2', why)
    third = assert(steer("again", "n1"))
    assert.same({ "failed", before + 2 }, { third.status, W.asked(folder) })
  end)

  it("is told more in its conversation where it is a model", function()
    local folder = R.folder()
    local server = R.server(table.concat({ R.raw(P.bytes(P.anthropic "first")), R.raw(P.bytes(P.anthropic "second")) }, "\n") .. "\n")
    R.write(folder .. "/tried.js", W.META .. "return await agent('work', { label: 'worker' })")
    R.write(folder .. "/key", "a-key")
    os.execute(("chmod 600 '%s/key'"):format(folder))
    local skill = assert(skillrt.load(folder .. "/tried.js"))
    skill.agents.default = skillrt.agent.anthropic { url = server.url .. "/plan", key_file = folder .. "/key" }
    local first = assert(skill:run { work_dir = folder .. "/run" })
    assert.equal("first", first.state.result, first.message)
    local again = assert(skillrt.resume(folder .. "/run", { skill = skill,
      steer = { steer = "tell", agent = "worker", text = "be brief" } }))
    assert.equal("second", again.state.result, again.message)
    assert.matches('"be brief"', server.body(2))
    server.stop()
  end)
end)
