-- workflow_resume_spec.lua: workflow scripts that are interrupted, edited and resumed: what is kept, and what is asked
-- again.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"
local agent, asked, load, run, META, EACH = W.agent, W.asked, W.load, W.run, W.META, W.EACH

describe("a workflow script that is resumed", function()
  after_each(R.clean)

  it("loses none of a thousand agents: behind a cut in the middle only those without a result are asked", function()
    local folder = R.folder()
    local function skill()
      local one = assert(load(folder, [[
        const all = await parallel(Array.from({ length: 1000 }, (_, i) => () => agent('say n' + i)))
        return new Set(all.filter(Boolean)).size]]))
      one.limits.ask_above = 0
      return one
    end
    local dir, cut = folder .. "/run", folder .. "/cut"
    local result = assert(skill():run { work_dir = dir })
    assert.same({ "completed", 1000, 1000 }, { result.status, result.state.result, asked(folder) }, result.message)
    R.cut(dir, cut, #R.records(dir) // 2)
    result = assert(skillrt.resume(cut, { skill = skill() }))
    local kept, all, is_resumed = 0, 0, false
    for _, record in ipairs(R.records(cut)) do
      local said = record.t == "result" and record.reply and (record.reply.body or ""):find "^n%d+$"
      is_resumed = is_resumed or record.t == "resume"
      all, kept = all + (said and 1 or 0), kept + (said and not is_resumed and 1 or 0)
    end
    assert.same({ "completed", 1000, 1000, 2000 - kept }, { result.status, result.state.result, all, asked(folder) }, result.message)
    assert.is_true(kept > 300 and kept < 700, kept)
  end)

  local BODY = [[
    const found = await pipeline(['a', 'b'], (item) => agent('say ' + item), (said) => agent(`say ${said}${said}`))
    const [x, y] = await Promise.all([agent('say x'), agent('say y')])
    return { found, x, y }
  ]]

  it("behind any record comes to the same end, and asks no agent again that had answered (W18, W25)", function()
    local first, dir, folder = run(BODY)
    local wanted, count = json.encode(first.state.result, { sorted = true }), #R.records(dir)
    assert.equal(6, asked(folder))
    for keep = 2, count - 1, EACH do
      local copy = R.folder() .. "/cut"
      R.cut(dir, copy, keep)
      local kept, of_script = 0, {}
      for _, record in ipairs(R.records(copy)) do
        of_script[record.c or ""] = of_script[record.c or ""] or record.pure
        kept = kept + (record.t == "result" and not of_script[record.c] and 1 or 0)
      end
      R.write(folder .. "/agent.asked", "")
      local result, message = skillrt.resume(copy, { skill = assert(skillrt.load(folder .. "/tried.js", { agent = agent(folder) })) })
      assert(result, message)
      assert.equal(wanted, json.encode(result.state.result, { sorted = true }), "cut behind " .. keep)
      assert.equal(6 - kept, asked(folder), ("cut behind record %d of %d"):format(keep, count))
    end
  end)

  -- Runs the first script until its last agent, which waits for a file, was asked; then cuts the run there.
  local function interrupted(body)
    local _, dir, folder = run(body)
    local copy = R.folder() .. "/cut"
    for keep, record in ipairs(R.records(dir)) do
      if record.t == "call" and record.kind == "command" then
        R.cut(dir, copy, keep - 1)
      end
    end
    R.write(folder .. "/agent.asked", "")
    return copy, folder
  end

  it("after an edit asks again for what changed, and for what came of it, and for nothing else (W18, W28)", function()
    local before = [[
      const list = await parallel([
        async () => { const a = await agent('say a'); return agent('say a' + a) },
        async () => { const b = await agent('say b'); return agent('say b' + b) },
      ])
      return [list, await agent('say end')]
    ]]
    local copy, folder = interrupted(before)
    local skill = assert(load(folder, (before:gsub("'say b'%)", "'say B')"))))
    local result, message, code = skillrt.resume(copy, { skill = skill })
    assert.same({ nil, "changed" }, { result, code })
    assert.matches("tried.js", message)
    assert.equal(0, asked(folder))
    result = assert(skillrt.resume(copy, { skill = skill, accept_changes = true }))
    assert.equal("completed", result.status, result.message)
    assert.same({ "aa", "bB" }, { table.unpack(result.state.result[1]) })
    assert.equal(3, asked(folder)) -- B, what was made of it, and the end
  end)

  it("keeps what it has where a step was put in front of it in another branch, and when it is cut again (W28)", function()
    local copy, folder = interrupted [[
      const list = await parallel([() => agent('say a'), () => agent('say b'), () => agent('say c')])
      return [list, await agent('say end')]
    ]]
    local skill = assert(load(folder, [[
      const list = await parallel([
        async () => { log('more'); return agent('say a') }, () => agent('say b'), () => agent('say d'), () => agent('say e'),
      ])
      return [list, await agent('say end')]
    ]]))
    local result = assert(skillrt.resume(copy, { skill = skill, accept_changes = true, yes = true }))
    assert.same({ "a", "b", "d", "e" }, { table.unpack(result.state.result[1]) })
    assert.equal(3, asked(folder)) -- d, e, end
    local again = R.folder() .. "/again"
    for keep = #R.records(copy) - 6, #R.records(copy) - 1 do
      R.cut(copy, again, keep)
      local last = assert(skillrt.resume(again, { skill = skill, accept_changes = true, yes = true }))
      assert.same({ "a", "b", "d", "e" }, { table.unpack(last.state.result[1]) }, "cut behind " .. keep)
    end
  end)
  it("keeps what other branches have where one asks more agents in front of what it asked (W28)", function()
    local copy, folder = interrupted [[
      const list = await parallel([() => agent('say a'), () => agent('say b'), () => agent('say c')])
      return [list, await agent('say end')]
    ]]
    local skill = assert(load(folder, [[
      const list = await parallel([
        async () => { const more = await Promise.all([agent('say m'), agent('say n')]); return [...more, await agent('say a')] },
        () => agent('say b'), () => agent('say c'),
      ])
      return [list, await agent('say end')]
    ]]))
    local result = assert(skillrt.resume(copy, { skill = skill, accept_changes = true, yes = true }))
    assert.same({ { { "m", "n", "a" }, "b", "c" }, "end" }, result.state.result)
    assert.equal(4, asked(folder)) -- m, n, a, end
  end)
end)

describe("a workflow that ended", function()
  after_each(R.clean)

  -- Its agents are no idempotent ones; those told to `fail` do so until the file "mended" is there.
  local function begun(body)
    local folder = R.folder()
    local function skill(text)
      R.write(folder .. "/tried.js", META .. (text or body))
      local one = agent(folder)
      one.idempotent = nil
      one.argv[3] = one.argv[3]:gsub("exit 3", '[ -e "$0.mended" ] || exit 3; printf mended')
      return assert(skillrt.load(folder .. "/tried.js", { agent = one }))
    end
    return folder, folder .. "/run", skill
  end

  it("as its agents failed is resumed: only those that gave no result are asked", function()
    local folder, dir, skill = begun [[
      const list = await parallel(['a', 'fail', 'c'].map(word => () => agent('say ' + word)))
      return [list, await agent('say ' + JSON.stringify(list).length)]
    ]]
    local result = assert(skill():run { work_dir = dir })
    assert.same({ "failed", "agents_failed", 4 }, { result.status, result.reason, asked(folder) })
    assert.same({ "skillrt resume w", "asks the agents again that gave no result" },
      { require("skillrt.report.closing").next(result, "w") })
    result = assert(skillrt.resume(dir, { skill = skill() }))
    assert.same({ "agents_failed", 5 }, { result.reason, asked(folder) })
    R.write(folder .. "/agent.mended", "")
    result = assert(skillrt.resume(dir, { skill = skill() }))
    assert.same({ "completed", 7 }, { result.status, asked(folder) }, result.message) -- it, and what is made of it
    assert.same({ "a", "mended", "c" }, result.state.result[1])
  end)

  it("as it threw is resumed once it is fixed, and asks nobody again, a person included", function()
    local folder, dir, skill = begun [[
      const list = await parallel(['a', 'b', 'c'].map(word => () => agent('say ' + word)))
      const said = await ask('go on?')
      return said.no.such
    ]]
    local result = assert(skill():run { work_dir = dir })
    if result.question then
      result = assert(skillrt.resume(dir, { skill = skill(), answer = "yes" }))
    end
    assert.same({ "paused", "script_error", 3 }, { result.status, result.reason, asked(folder) })
    result = assert(skillrt.resume(dir, { skill = skill [[
      const list = await parallel(['a', 'b', 'c'].map(word => () => agent('say ' + word)))
      const said = await ask('go on?')
      return [...list, said]
    ]] }))
    assert.equal("completed", result.status, result.message)
    assert.same({ "a", "b", "c", "yes" }, result.state.result)
    assert.equal(3, asked(folder))
  end)

  it("as completed is resumed with a changed script, which has all answers", function()
    local folder, dir, skill = begun "return await agent('say a')"
    assert.equal("completed", assert(skill():run { work_dir = dir }).status)
    local refused, message = skillrt.resume(dir, { skill = skill() })
    assert.is_nil(refused)
    assert.matches("there is nothing to resume", message)
    local changed = "return [await agent('say a'), await agent('say b')]"
    local _, _, code = skillrt.resume(dir, { skill = skill(changed) })
    assert.equal("changed", code)
    local result = assert(skillrt.resume(dir, { skill = skill(changed), accept_changes = true }))
    assert.same({ "completed", { "a", "b" }, 2 }, { result.status, result.state.result, asked(folder) })
  end)
end)
