-- run_limits_spec.lua: limits that hold a run over every resume: calls, what they use, time.
local R = require "tests.support.runs"
local limited = require "tests.support.limited"
local skillrt = require "skillrt"

local echo, calls_of, mapping = limited.echo, limited.calls_of, limited.mapping

describe("limits.calls", function()
  after_each(R.clean)

  it("lets so many calls leave and no more, also side by side; then the run pauses", function()
    local definition = { limits = { calls = 3 }, actions = { mapping(8, echo()) } }
    local result = assert(R.run(definition))
    local dir = result.work_dir
    assert.same({ "paused", "call_limit" }, { result.status, result.reason })
    assert.matches("calls limit reached %(3 of 3%)", result.message)
    assert.equal(3, calls_of(dir))
    assert.equal(3, #R.records(dir, "result"), "what was under way is recorded")
    assert.equal(0, result.state.error_count)
  end)
end)

describe("limits.usage", function()
  after_each(R.clean)

  -- Calls that reserve 40 each and then say that they used so much.
  local function using(count, used, options, argv)
    return { id = "m", run = function(_, ctx)
      local list = {}
      for i = 1, count do list[i] = i end
      ctx.map(list, function()
        assert(ctx.await(echo { usage = { tokens = 40 }, argv = argv }))
        ctx.used { tokens = used }
      end, options)
      return { done = true }
    end }
  end

  it("is reserved before a call leaves: calls side by side cannot overshoot together", function()
    local most, out = 0, 0
    local definition = { limits = { usage = { tokens = 100 } }, actions = { using(8, 40, nil, { "sleep", "0.3" }) } }
    local result = assert(R.run(definition))
    for _, record in ipairs(R.records(result.work_dir)) do
      out = out + (record.t == "call" and 1 or record.t == "result" and -1 or 0)
      most = math.max(most, out)
    end
    assert.same({ "paused", "usage_limit", 2 }, { result.status, result.reason, most })
    assert.equal(2, calls_of(result.work_dir))
    assert.matches("usage.tokens limit reached %(80 of 100%); call %S+ of m may use 40", result.message)
  end)

  it("waits for what others did not use of what they reserved", function()
    local result = assert(R.run { limits = { usage = { tokens = 100 } }, actions = { using(6, 10) } })
    assert.same({ "completed", true, 6 }, { result.status, result.state.done, calls_of(result.work_dir) })
    local _, books = R.records(result.work_dir)
    assert.equal(60, books.spent["usage.tokens"])
    assert.equal(60, books.spent_by.m["usage.tokens"])
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
    assert.same({ ["usage.tokens"] = 77, ["usage.dollars"] = 0.5, calls = 2, max_errors = 1 }, books.spent)
    assert.is_nil(books.completed.c)
  end)

  it("refuses what is no usage, where it is said", function()
    local result = assert(R.run { limits = { max_errors = 1 }, actions = { { id = "a", run = function(_, ctx)
      ctx.used { tokens = -1 }
    end } } })
    assert.matches("ctx.used: tokens must be a number, 0 or more, not %-1", result.message)
  end)
end)

describe("a run that ended at a limit", function()
  after_each(R.clean)

  it("goes on when the limit is raised, and says in its journal by how much", function()
    local skill = R.skill { limits = { calls = 3 }, actions = { mapping(8, echo()) } }
    local dir = R.folder() .. "/run"
    local result = assert(skill:run { work_dir = dir })
    assert.equal("calls", result.limit)
    assert.equal("call_limit", assert(skillrt.resume(dir, { skill = skill, add = { calls = 2 } })).reason)
    assert.equal(5, calls_of(dir))
    assert.equal("completed", assert(skillrt.resume(dir, { skill = skill, add = { calls = 3 } })).status)
    local added = {}
    for i, record in ipairs(R.records(dir, "resume")) do added[i] = record.add end
    assert.same({ { calls = 2 }, { calls = 3 } }, added)
  end)

  it("is gone on with though it failed: max_iterations, max_errors with what the end brought (R59, F30)", function()
    local function skill()
      return R.skill { limits = { max_iterations = 3, max_errors = 2, max_retries = 0 }, actions = {
        { id = "a", max_runs = 5, when = "n < 5", run = function(state) return { n = state.n + 1 } end },
      }, state = { n = 0 } }
    end
    local dir = R.folder() .. "/run"
    local result = assert(skill():run { work_dir = dir })
    assert.same({ "failed", "max_iterations", 3 }, { result.status, result.reason, result.state.n })
    local _, message = skillrt.resume(dir, { skill = skill() })
    assert.matches("resume %S+ %-%-add max_iterations=NUMBER` raises the limit", message)
    result = assert(skillrt.resume(dir, { skill = skill(), add = { max_iterations = 1 } }))
    assert.same({ "failed", "max_iterations", 4 }, { result.status, result.reason, result.state.n })
    result = assert(skillrt.resume(dir, { skill = skill(), add = { max_iterations = 9 } }))
    assert.same({ "completed", 5 }, { result.status, result.state.n })
  end)

  it("goes on behind max_errors, and action-abort runs again when there are too many once more (F27, F30)", function()
    local folder = R.folder()
    local skill = R.skill { limits = { max_errors = 1, max_retries = 0 }, actions = {
      { id = "a", run = function() return nil, R.exists(folder .. "/go") and "still no" or "no" end },
      { id = "action-abort", run = function() return { aborted = true } end },
    } }
    assert.equal("error_limit", assert(skill:run { work_dir = folder .. "/run" }).reason)
    local result = assert(skillrt.resume(folder .. "/run", { skill = skill, add = { max_errors = 1 } }))
    assert.same({ "failed", "error_limit", 2 }, { result.status, result.reason, result.state.error_count })
    assert.equal("a action-abort a action-abort", R.order(folder .. "/run"))
  end)

  it("opens the loop of a hybrid run again, and the phases behind it", function()
    local skill = R.skill { mode = "hybrid", on_loop_failed = "run_finalize", state = { n = 0 },
      limits = { max_iterations = 2 },
      actions = { { id = "a", max_runs = 4, when = "n < 4", run = function(s) return { n = s.n + 1 } end } },
      phases = { { id = "first", run = function() return "x" end },
        { id = "last", trailing = true, run = function(s) return "n is " .. s.n end } } }
    local dir = R.folder() .. "/run"
    assert.same("max_iterations", assert(skill:run { work_dir = dir }).reason)
    local result = assert(skillrt.resume(dir, { skill = skill, add = { max_iterations = 2 } }))
    assert.same({ "completed", "n is 4" }, { result.status, result.state.outputs.last })
    local order = {}
    for i, record in ipairs(R.records(dir, "start")) do order[i] = record.phase or record.action end
    assert.equal("first a a last a a last", table.concat(order, " "))
  end)

  it("refuses a limit that there is not, and a number that is none", function()
    local skill = R.skill { limits = { calls = 1, usage = { tokens = 5 } }, actions = { mapping(8, echo()) } }
    local dir = R.folder() .. "/run"
    assert(skill:run { work_dir = dir })
    for name, told in pairs { call = 'did you mean "calls"', run_timeout = 'no limit "run_timeout"' } do
      local _, message, code = skillrt.resume(dir, { skill = skill, add = { [name] = 1 } })
      assert.equal("invalid", code)
      assert.truthy(message:find(told, 1, true), message)
    end
    local _, message = skillrt.resume(dir, { skill = skill, add = { calls = 1.5 } })
    assert.matches("added to calls must be a whole number above 0, not 1.5", message)
    assert.equal(1, calls_of(dir))
  end)
end)

describe("limits.no_progress", function()
  after_each(R.clean)

  it("is counted over every resume, after each step, too (F33)", function()
    local dir = R.folder() .. "/run"
    local skill = R.skill { actions = { { id = "a", repeatable = true, run = R.sets {} } } }
    local result = assert(skill:run { work_dir = dir })
    assert.same({ "paused", "no_progress" }, { result.status, result.reason })
    result = assert(skillrt.resume(dir, { skill = skill }))
    assert.same({ "paused", "no_progress" }, { result.status, result.reason })
    assert.equal("a a a", R.order(dir))
    result = assert(skillrt.resume(dir, { skill = skill, add = { no_progress = 2 } }))
    assert.same({ "paused", "no_progress" }, { result.status, result.reason })
    assert.equal("a a a a a", R.order(dir))
  end)
end)

describe("limits.run_timeout", function()
  after_each(R.clean)

  local function napping(more)
    local definition = { actions = { { id = "a", limits = more.own, run = function(_, ctx)
      for _ = 1, 3 do
        assert(ctx.await { kind = "command", argv = { "sleep", "0.15" }, acts = false })
      end
      return { done = true }
    end } }, limits = { run_timeout = more.run } }
    return R.skill(definition)
  end

  it("counts over every resume, cancels what is under way, and counts no attempt and no error (R179)", function()
    local dir = R.folder() .. "/run"
    local result = assert(napping { run = 0.1 }:run { work_dir = dir })
    assert.same({ "paused", "run_timeout" }, { result.status, result.reason })
    for _ = 1, 5 do
      result = assert(skillrt.resume(dir, { skill = napping { run = 0.1 } }))
      assert.same({ "paused", "run_timeout", 0 }, { result.status, result.reason, result.state.error_count })
    end
    assert.equal(0, #R.records(dir, "fail"))
    assert.equal(0, #R.records(dir, "attempt"))
    result = assert(skillrt.resume(dir, { skill = napping { run = 0.1 }, add = { run_timeout = 60 } }))
    assert.same({ "completed", true }, { result.status, result.state.done })
  end)

  it("may be an action's own: its steps together", function()
    local dir = R.folder() .. "/run"
    local result = assert(napping { own = { run_timeout = 0.2 } }:run { work_dir = dir })
    assert.same({ "paused", "run_timeout", "a.run_timeout" }, { result.status, result.reason, result.limit })
    assert.matches("the steps of a took longer than run_timeout, 0.2 seconds", result.message)
    result = assert(skillrt.resume(dir, { skill = napping { own = { run_timeout = 0.2 } }, add = { ["a.run_timeout"] = 9 } }))
    assert.equal("completed", result.status)
  end)

  it("fails a call for good whose reply is within max_output and too large as JSON, and never sends it again", function()
    local folder = R.folder()
    local function definition()
      return { actions = { { id = "a", idempotent = true, run = function(_, ctx)
        local reply, message, class = ctx.await { kind = "command", idempotent = true, max_output = 20000000,
          argv = { "sh", "-c", "echo x >> " .. folder .. "/count; head -c 12000000 /dev/zero" } }
        ctx.ask "go on?"
        return { reply = reply ~= nil, message = message, class = class }
      end } } }
    end
    local result = assert(R.run(definition(), { work_dir = folder .. "/run" }))
    assert.equal("waiting_for_person", result.reason, result.message)
    result = assert(require("skillrt").resume(folder .. "/run", { skill = R.skill(definition()), answer = "yes" }))
    assert.same({ "completed", false, "permanent", "x\n" },
      { result.status, result.state.reply, result.state.class, R.read(folder .. "/count") }, result.message)
    assert.truthy(result.state.message:find("cannot be recorded: reply.body: more than 67108864 bytes of JSON", 1, true),
      result.state.message)
  end)
end)
