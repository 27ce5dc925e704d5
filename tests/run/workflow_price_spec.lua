-- workflow_price_spec.lua: a person is asked before many agents, or before expensive ones, with what they may cost;
-- what each used is reported.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"

local BODY <const> = [[
  phase('First')
  await agent('one', { label: 'first', phase: 'Look' })
  return (await parallel([1, 2, 3, 4].map(i => () => agent('say ' + i)))).length
]]

local AGENT <const> = [[cat > /dev/null; echo x >> "$0.asked"; n=2; [ $(wc -l < "$0.asked") = 1 ] && n=1
  printf '{"status":"completed","output":"x","used":{"tokens":100,"output_tokens":40,"dollars":%s}}' $n]]

-- The skill of a script whose agents cost a dollar the first time and two afterwards; how many were asked.
local function costly(folder, limits)
  local skill = assert(W.load(folder, BODY))
  skill.agents.default = skillrt.agent.command { "sh", "-c", AGENT, folder .. "/agent", stdin = "{prompt}", parse = "json",
    idempotent = true }
  return skill, { work_dir = folder .. "/run", limits = limits }, function() return W.asked(folder) end
end

local function questions(dir)
  local list = {}
  for i, record in ipairs(R.records(dir)) do
    list[#list + 1] = record.t == "call" and record.kind == "ask" and i or nil
  end
  return list
end

describe("a workflow script", function()
  after_each(R.clean)

  it("asks a person before more agents than ask_above, and sends none before the answer", function()
    local folder = R.folder()
    local skill, options, count = costly(folder, { ask_above = 3 })
    local result = assert(skill:run(options))
    assert.same({ "paused", "waiting_for_person", 1 }, { result.status, result.reason, count() })
    assert.equal("4 agents, about 400 tokens, $4.00 to $4.00 by the usage of the 1 before them. Continue?", result.question.question)
    result = assert(skillrt.resume(folder .. "/run", { skill = skill, answer = "yes" }))
    assert.same({ "completed", 4, 5 }, { result.status, result.state.result, count() })
  end)

  it("asks none for as many as ask_above, nor where it is 0", function()
    for _, most in ipairs { 4, 0 } do
      local skill, options, count = costly(R.folder(), { ask_above = most })
      assert.same({ "completed", 5 }, { assert(skill:run(options)).status, count() })
    end
  end)

  it("asks before agents that may cost more together than ask_above_usd", function()
    local skill, options = costly(R.folder(), { ask_above_usd = 3.5 })
    assert.equal("waiting_for_person", assert(skill:run(options)).reason)
    skill, options = costly(R.folder(), { ask_above_usd = 4.5 })
    assert.equal("completed", assert(skill:run(options)).status)
  end)

  it("is aborted where they are not wanted, and none of them was asked", function()
    local folder = R.folder()
    local skill, options, count = costly(folder, { ask_above = 3 })
    assert(skill:run(options))
    local result = assert(skillrt.resume(folder .. "/run", { skill = skill, answer = "no" }))
    assert.same({ "aborted", 1 }, { result.status, count() })
    assert.matches("a person declined 4 agents", result.message)
  end)

  it("asks once, in the same words, wherever it is cut and resumed", function()
    local folder = R.folder()
    local skill, options = costly(folder, { ask_above = 3 })
    assert(skill:run(options))
    assert(skillrt.resume(folder .. "/run", { skill = skill, answer = "yes" }))
    for keep = questions(folder .. "/run")[1] - 1, #R.records(folder .. "/run") - 1 do
      local copy = R.folder() .. "/cut"
      R.cut(folder .. "/run", copy, keep)
      local result = skillrt.resume(copy, { skill = skill })
      if result and result.question then
        assert.matches("^4 agents, about 400 tokens", result.question.question)
        result = assert(skillrt.resume(copy, { skill = skill, answer = "yes" }))
      end
      assert.equal("completed", result and result.status, "cut behind " .. keep)
      assert.equal(1, #questions(copy))
    end
  end)

  it("says what each agent used, with its label and phase", function()
    local skill, options = costly(R.folder())
    local used = assert(skill:run(options)).state.agents.used
    assert.equal(5, #used)
    local first = used[1]
    assert.same({ "first", "Look", 100, 40, 1 }, { first.label, first.phase, first.tokens, first.output_tokens, first.dollars })
    local others = {}
    for i = 2, 5 do others[i - 1] = ("%s in %s"):format(used[i].label, used[i].phase) end
    table.sort(others) -- they end in any order
    assert.same({ "say 1 in First", "say 2 in First", "say 3 in First", "say 4 in First" }, others)
  end)

  it("says at its end, and in its report, what each phase used, whichever phase its agents end in", function()
    local folder = R.folder()
    R.write(folder .. "/tried.js", W.META .. [[
      phase('Scan')
      const both = parallel([1, 2].map(i => () => agent('scan ' + i)))
      phase('Judge')
      await both
      await agent('judge', { label: 'judge' })]])
    R.write(folder .. "/agent.sh", AGENT)
    local seen = kit.run({ path = folder }, { "run", "tried.js", "--trust", "--work-dir", "r", "--agent", '["sh","agent.sh"]' })
    assert.equal(0, seen.code, seen.err)
    assert.matches("\nScan: 2 agents, 80 output tokens, %$%d%.0000\nJudge: 1 agent, 40 output tokens, %$2%.0000\n"
      .. "total: 3 agents, 120 output tokens, %$%d%.0000\n", seen.out)
    local calls = {}
    for _, step in ipairs(json.decode(assert(require("skillrt.report.page").data(folder .. "/r"))).steps) do
      for _, call in ipairs(step.calls) do
        calls[#calls + 1] = call.label and ("%s: %s, %d"):format(call.phase, call.label, call.used.output_tokens)
      end
    end
    assert.same({ "Scan: scan 1, 40", "Scan: scan 2, 40", "Judge: judge, 40" }, calls)
  end)

  it("is not asked with --yes; a dry run says how many would be asked, and what the prompts cost", function()
    local folder = R.folder()
    R.write(folder .. "/tried.js", W.META .. "return (await parallel(Array(30).fill(0).map(() => () => agent('x'.repeat(3000))))).length")
    local agent = '["sh","-c","cat > /dev/null; echo said"]'
    local function run(...)
      return kit.run({ path = folder }, { "run", "tried.js", "--trust", ... })
    end
    assert.equal(3, run("--agent", agent).code)
    assert.equal(0, run("--agent", agent, "--yes").code)
    local seen = run("--dry-run", "--agent", "anthropic:claude-haiku-4-5")
    assert.matches("would ask 30 agents: their prompts are about 30000 tokens, $0.0300; their answers cost extra", seen.out)
  end)
end)
