-- run_await_chain_spec.lua: functions that await a chain of agents: one after the other is asked.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

-- A program that writes down that it was asked, and then says this and ends with that code.
local function asked(log, name, says, code)
  local script = ("echo %s >> '%s'; printf '%%s' '%s'; exit %d"):format(name, log, says, code or 0)
  return skillrt.agent.command { "sh", "-c", script, parse = "json", idempotent = true }
end

local function skill_of(chain, more)
  local definition = {
    limits = { max_errors = 1, max_retries = 0 },
    agents = { any = skillrt.agent.chain(chain) },
    actions = { { id = "a", idempotent = true, run = function(_, ctx)
      local reply, message, class = ctx.await { agent = "any", prompt = "what is five?" }
      if not reply then
        return nil, message, class
      end
      return { m = reply.updates.m, status = reply.status }
    end } },
  }
  for key, value in pairs(more or {}) do definition[key] = value end
  return definition
end

describe("ctx.await of a chain", function()
  after_each(R.clean)

  it("asks its members in order until one succeeds, and says so in the log (F47)", function()
    local folder = R.folder()
    local log, dir = folder .. "/asked", folder .. "/run"
    local result = assert(R.run(skill_of {
      asked(log, "one", "no", 3), asked(log, "two", "no JSON"), asked(log, "three", '{"m":5}'), asked(log, "four", '{"m":6}'),
    }, { work_dir = dir }))
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.equal(5, result.state.m)
    assert.equal("one\ntwo\nthree\n", R.read(log))
    local notes = R.records(dir, "note")
    assert.matches("exited with 3.*; trying agent 2 of the chain$", notes[1].text)
    assert.matches("contains no complete JSON object; trying agent 3 of the chain$", notes[2].text)
    assert.equal(2, #notes)
  end)

  it("gives the last one's failure, and passes over one that cannot be asked (F47)", function()
    local folder = R.folder()
    local log = folder .. "/asked"
    local result = assert(R.run(skill_of {
      skillrt.agent.command { "echo", "{input.nobody}" }, asked(log, "two", "", 75),
    }, { work_dir = folder .. "/run" }))
    assert.equal("failed", result.status)
    assert.matches("exited with 75", result.state.errors[1].message)
    assert.equal("transient", result.state.errors[1].class)
    assert.equal("two\n", R.read(log))
  end)

  it("performs members that are functions of the script, which may wait too (F47)", function()
    local folder = R.folder()
    local log = folder .. "/asked"
    local result = assert(R.run(skill_of({
      skillrt.agent.lua(function() return nil, "not today" end),
      skillrt.agent.lua(function() error "broken" end),
      skillrt.agent.lua(function(state, ctx)
        local said = ctx.await { kind = "command", argv = { "echo", tostring(state.from) } }
        return { m = said.stdout }
      end),
      asked(log, "four", '{"m":6}'),
    }, { state = { from = "the script" } }), { work_dir = folder .. "/run" }))
    assert.equal("completed", result.status, json.encode(result.state.errors))
    assert.equal("the script\n", result.state.m)
    assert.is_nil(R.read(log))
    local notes = R.records(folder .. "/run", "note")
    assert.equal("not today; trying agent 2 of the chain", notes[1].text)
    assert.matches("broken; trying agent 3 of the chain$", notes[2].text)
  end)

  it("judges what a function gives or raises as if it were the step's own (F36, F47)", function()
    local folder = R.folder()
    local result = assert(R.run(skill_of {
      skillrt.agent.lua(function() return "no table" end),
      skillrt.agent.lua(function() error { message = "too many", class = "rate_limit" } end),
      skillrt.agent.lua(function() return nil, "not now", "permanent" end),
    }, { work_dir = folder .. "/run" }))
    local notes = R.records(folder .. "/run", "note")
    assert.matches('a: run returned "no table"; an action returns one table of updates, or nothing.*; trying agent 2', notes[1].text)
    assert.matches("too many; trying agent 3", notes[2].text)
    assert.equal("permanent", result.state.errors[1].class)
    assert.matches("not now", result.state.errors[1].message)
  end)

  it("asks no member twice that had answered before a crash, wherever that came (F40)", function()
    local folder = R.folder()
    local log, dir = folder .. "/asked", folder .. "/run"
    local skill = skill_of { asked(log, "one", "no", 3), asked(log, "two", '{"m":5}') }
    assert(R.run(skill, { work_dir = dir }))
    local seen = {}
    for keep = 1, #R.records(dir) - 1 do
      local copy = folder .. "/copy" .. keep
      R.cut(dir, copy, keep)
      local replies = #R.records(copy, "result") -- of a batch that was cut in two none counts
      seen[replies] = true
      os.remove(log)
      local result = assert(skillrt.resume(copy, { skill = R.skill(skill) }))
      assert.same({ "completed", 5 }, { result.status, result.state.m }, "after record " .. keep)
      local again = R.read(log) or ""
      assert.equal(replies == 0 and "one\ntwo\n" or replies == 1 and "two\n" or "", again, "after record " .. keep)
    end
    assert.is_true(seen[0] and seen[1])
  end)

  it("is the same whichever member the step's own chain has come to", function()
    local folder = R.folder()
    local log = folder .. "/asked"
    local inner = skillrt.agent.chain { asked(log, "one", '{"m":1}'), asked(log, "two", '{"m":2}') }
    local result = assert(R.run({ limits = { max_errors = 1, max_retries = 0 }, actions = { { id = "a",
      agent = skillrt.agent.chain {
        skillrt.agent.command { "false" },
        skillrt.agent.lua(function(_, ctx) return { m = ctx.await({ agent = inner }).updates.m } end),
      } } } }, { work_dir = folder .. "/run" }))
    assert.equal(1, result.state.m)
  end)
end)
