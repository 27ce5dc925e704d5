-- run_limits_spec.lua: limits that hold a run over every resume: calls, what they use, time.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function echo(more)
  local request = { kind = "command", argv = { "true" }, acts = false }
  for key, value in pairs(more or {}) do
    request[key] = value
  end
  return request
end

local function calls_of(dir)
  return #R.records(dir, "call")
end

-- An action that calls so often, side by side.
local function mapping(count, request, options)
  return { id = "m", run = function(_, ctx)
    local list = {}
    for i = 1, count do list[i] = i end
    ctx.map(list, function()
      return assert(ctx.await(request)).code
    end, options)
    return { done = true }
  end }
end

describe("limits.calls", function()
  after_each(R.clean)

  it("lets so many calls leave and no more, also side by side; then the run pauses", function()
    local definition = { limits = { calls = 3 }, actions = { mapping(8, echo()) } }
    local result = assert(R.run(definition))
    local dir = result.work_dir
    assert.same({ "paused", "call_limit" }, { result.status, result.reason })
    assert.matches("calls: 3 of 3 are used up", result.message)
    assert.equal(3, calls_of(dir))
    assert.equal(3, #R.records(dir, "result"), "what was under way is recorded")
    assert.equal(0, result.state.error_count)
  end)

  it("are counted over every resume, and what waited goes on when there are more", function()
    local function definition(calls)
      return R.skill { limits = { calls = calls }, actions = { mapping(8, echo(), { max_parallel = 2 }) } }
    end
    local dir = R.folder() .. "/run"
    assert.equal("call_limit", assert(definition(3):run { work_dir = dir }).reason)
    assert.equal("call_limit", assert(skillrt.resume(dir, { skill = definition(3) })).reason)
    assert.equal(3, calls_of(dir))
    local result = assert(skillrt.resume(dir, { skill = definition(8) }))
    assert.same({ "completed", true, 8 }, { result.status, result.state.done, calls_of(dir) })
  end)

  it("count each attempt, and no sleep", function()
    local definition = { limits = { calls = 3 }, actions = { { id = "a", run = function(_, ctx)
      for _ = 1, 5 do ctx.sleep(0.001) end
      return assert(ctx.await(echo { argv = { "sh", "-c", "kill -9 $$" }, retry = { max = 9, base = 0.001, jitter = false } }))
    end } } }
    local result = assert(R.run(definition))
    assert.same({ "paused", "call_limit", 3 }, { result.status, result.reason, #R.records(result.work_dir, "attempt") })
  end)

  it("may be an action's own", function()
    local definition = { actions = {
      { id = "a", priority = 1, limits = { calls = 2 }, run = mapping(2, echo()).run },
      { id = "b", limits = { calls = 2 }, run = mapping(3, echo()).run },
    } }
    local result = assert(R.run(definition))
    assert.same({ "paused", "call_limit", true }, { result.status, result.reason, result.state.done })
    assert.matches("b.calls: 2 of 2 are used up", result.message, 1, true)
    assert.equal(4, calls_of(result.work_dir))
  end)

  it("do not stop a run that needs no more calls", function()
    local result = assert(R.run { limits = { calls = 3 }, actions = { mapping(3, echo()) } })
    assert.equal("completed", result.status)
  end)
end)

describe("limits.usage", function()
  after_each(R.clean)

  -- Calls that reserve 40 each and then say that they used so much.
  local function using(count, used, options)
    return { id = "m", run = function(_, ctx)
      local list = {}
      for i = 1, count do list[i] = i end
      ctx.map(list, function()
        assert(ctx.await(echo { usage = { tokens = 40 } }))
        ctx.used { tokens = used }
      end, options)
      return { done = true }
    end }
  end

  it("is reserved before a call leaves: calls side by side cannot overshoot together", function()
    local most, out = 0, 0
    local definition = { limits = { usage = { tokens = 100 } }, actions = { using(8, 40) } }
    local result = assert(R.run(definition))
    for _, record in ipairs(R.records(result.work_dir)) do
      out = out + (record.t == "call" and 1 or record.t == "result" and -1 or 0)
      most = math.max(most, out)
    end
    assert.same({ "paused", "usage_limit", 2 }, { result.status, result.reason, most })
    assert.equal(2, calls_of(result.work_dir))
    assert.matches("usage.tokens: 80 of 100 are used up, and call %S+ of m may use 40", result.message)
  end)

  it("waits for what others did not use of what they reserved", function()
    local result = assert(R.run { limits = { usage = { tokens = 100 } }, actions = { using(6, 10) } })
    assert.same({ "completed", true, 6 }, { result.status, result.state.done, calls_of(result.work_dir) })
    local _, books = R.records(result.work_dir)
    assert.equal(60, books.spent["usage.tokens"])
    assert.equal(60, books.spent_by.m["usage.tokens"])
  end)

  it("is counted once, over resumes and replays", function()
    local function definition(tokens)
      return R.skill { limits = { usage = { tokens = tokens } }, actions = { using(4, 40, { max_parallel = 1 }) } }
    end
    local dir = R.folder() .. "/run"
    assert.equal("usage_limit", assert(definition(100):run { work_dir = dir }).reason)
    assert.equal("usage_limit", assert(skillrt.resume(dir, { skill = definition(119) })).reason)
    local result = assert(skillrt.resume(dir, { skill = definition(160) }))
    assert.same({ "completed", 4 }, { result.status, calls_of(dir) })
    assert.equal(160, select(2, R.records(dir)).spent["usage.tokens"])
  end)

  it("is what an agent's answer says it used, where it failed, too", function()
    local agent = skillrt.agent.command { "sh", "-c", [[echo '{"status":"done","used":{"tokens":70,"dollars":0.5}}']],
      parse = "json", acts = false }
    local bad = skillrt.agent.command { "sh", "-c", [[echo '{"status":"failed","error":"no","used":{"tokens":7}}']],
      parse = "json", acts = false }
    local result = assert(R.run { limits = { max_retries = 0, usage = { tokens = 75 } }, actions = {
      { id = "a", priority = 2, agent = agent }, { id = "b", priority = 1, agent = bad }, { id = "c", agent = agent },
    } })
    local _, books = R.records(result.work_dir)
    assert.same({ "paused", "usage_limit" }, { result.status, result.reason })
    assert.same({ ["usage.tokens"] = 77, ["usage.dollars"] = 0.5, calls = 2 }, books.spent)
    assert.is_nil(books.completed.c)
  end)

  it("refuses what is no usage, where it is said", function()
    local result = assert(R.run { limits = { max_errors = 1 }, actions = { { id = "a", run = function(_, ctx)
      ctx.used { tokens = -1 }
    end } } })
    assert.matches("ctx.used: tokens must be a number, 0 or more, not %-1", result.message)
  end)
end)
