-- run_sub_limits_spec.lua: limits of the skill that a sub-run runs: they pause the run, which raises them by their
-- full name; and many limits of time side by side.
local R = require "tests.support.runs"
local limited = require "tests.support.limited"
local core = require "skillrt.core"
local skillrt = require "skillrt"

local echo, calls_of, mapping = limited.echo, limited.calls_of, limited.mapping

describe("limits of a sub-run's own skill", function()
  after_each(R.clean)

  -- Two sub-runs, one behind the other, each with so many calls.
  local function nested(count, inner, outer)
    return R.skill { limits = outer, actions = { { id = "out", run = function(_, ctx)
      local n = 0
      for _ = 1, 2 do
        local one = mapping(count, echo(inner.request))
        one.id, one.limits = "in", inner.own
        n = n + (assert(ctx.run(R.skill { name = "sub", limits = inner.limits, actions = { one } })).state.done and 1 or 0)
      end
      return { n = n }
    end } } }
  end

  local ROWS <const> = {
    { "calls", { limits = { calls = 3 } }, "call_limit", "sub/1.1/calls limit reached (3 of 3)", "sub/1.2/calls" },
    { "its action's calls", { own = { calls = 3 } }, "call_limit", "sub/1.1/in.calls limit reached (3 of 3)", "sub/1.2/in.calls" },
  }

  for _, row in ipairs(ROWS) do
    it("pause the run, which can raise them by their full name: " .. row[1], function()
      local dir, skill = R.folder() .. "/run", nested(5, row[2])
      local result = assert(skill:run { work_dir = dir })
      assert.same({ "paused", row[3], (row[5]:gsub("1%.2", "1.1")), 3 }, { result.status, result.reason, result.limit, calls_of(dir) - 1 })
      assert.matches(row[4], result.message, 1, true)
      result = assert(skillrt.resume(dir, { skill = skill }))
      assert.same({ row[3], 3 }, { result.reason, calls_of(dir) - 1 }, "counted over resumes")
      result = assert(skillrt.resume(dir, { skill = skill, add = { [result.limit] = 2 } }))
      assert.same({ row[3], row[5], 5 + 3 }, { result.reason, result.limit, calls_of(dir) - 2 }, "each has its own")
      local _, message, code = skillrt.resume(dir, { skill = skill, add = { ["sub/1.9/calls"] = 2 } })
      assert.equal("invalid", code)
      assert.matches('has no limit "?sub/1.9/calls', message)
      result = assert(skillrt.resume(dir, { skill = skill, add = { [row[5]] = 2 } }))
      assert.same({ "completed", 2, 10 }, { result.status, result.state.n, calls_of(dir) - 2 })
    end)
  end

  it("hold beside those of the run, whichever is reached first", function()
    local result = assert(nested(3, { limits = { calls = 3 } }, { calls = 5 }):run { work_dir = R.folder() .. "/run" })
    assert.same({ "call_limit", "calls" }, { result.reason, result.limit })
  end)

  it("are named where the run's own time is over while it drains", function()
    local dir = R.folder() .. "/run"
    local skill = R.skill { limits = { calls = 100, run_timeout = 0.4 }, actions = { { id = "out", run = function(_, ctx)
      ctx.all { function()
        ctx.await(echo { argv = { "sleep", "20" } })
      end, function()
        assert(ctx.run(R.skill { name = "sub", limits = { calls = 1 }, actions = { mapping(2, echo()) } }))
      end }
    end } } }
    local began = os.time()
    local result = assert(skill:run { work_dir = dir })
    assert(os.time() - began < 10)
    assert.same({ "call_limit", "sub/1.1.2.1/calls" }, { result.reason, result.limit })
  end)

  it("count what calls use, reserved before they leave, also of scopes in scopes", function()
    local dir = R.folder() .. "/run"
    local skill = R.skill { actions = { { id = "a", run = function(_, ctx)
      local low = R.skill { name = "low", actions = { { id = "x", run = function(_, deep)
        deep.await(echo { usage = { tokens = 40 } })
        deep.used { tokens = 30 }
      end } } }
      local mid = R.skill { name = "mid", limits = { usage = { tokens = 100 } }, actions = { { id = "m", run = function(_, inside)
        for _ = 1, 4 do assert(inside.run(low)) end
        return { done = true }
      end } } }
      return { done = assert(ctx.run(mid)).state.done }
    end } } }
    local result = assert(skill:run { work_dir = dir, books_bytes = 1 })
    assert.same({ "paused", "usage_limit", "sub/1.1/usage.tokens" }, { result.status, result.reason, result.limit })
    assert.matches("sub/1.1/usage.tokens limit reached (90 of 100); call 1 of x may use 40", result.message, 1, true)
    result = assert(skillrt.resume(dir, { skill = skill, add = { ["sub/1.1/usage.tokens"] = 30 } }))
    assert.same({ "completed", true }, { result.status, result.state.done }, result.message)
  end)

  it("hold its time, as a whole and its action's, over resumes", function()
    for full, limits in pairs { ["sub/1.1/run_timeout"] = { 0.15 }, ["sub/1.1/x.run_timeout"] = { nil, 0.15 } } do
      local dir = R.folder() .. "/run"
      local function skill(seconds)
        return R.skill { actions = { { id = "a", run = function(_, ctx)
          local slow = R.skill { name = "slow", limits = { run_timeout = limits[1] }, actions = { { id = "x",
            limits = limits[2] and { run_timeout = limits[2] }, run = function(_, inside)
              assert(inside.await(echo { argv = { "sleep", seconds }, declared = { argv = { "nap" } } }))
            end } } }
          assert(ctx.run(slow))
          return { done = true }
        end } } }
      end
      local began = os.time()
      local result = assert(skill("20"):run { work_dir = dir })
      assert(os.time() - began < 10)
      assert.same({ "paused", "run_timeout", full }, { result.status, result.reason, result.limit })
      assert.matches("sub%-run 1%.1 took longer than run_timeout, 0.15 seconds", result.message)
      assert.equal("run_timeout", assert(skillrt.resume(dir, { skill = skill "20" })).reason)
      result = assert(skillrt.resume(dir, { skill = skill "0.01", add = { [full] = 60 } }))
      assert.same({ "completed", true }, { result.status, result.state.done }, result.message)
    end
  end)
end)

describe("an action's own run_timeout", function()
  after_each(R.clean)

  it("leave Lua behind a scope the time that it has itself", function()
    local skill = R.skill { limits = { run_timeout = 60 }, actions = { { id = "out", run = function(_, ctx)
      assert(ctx.run(R.skill { name = "sub", limits = { run_timeout = 0.3 }, actions = { {
        id = "in", run = function() return { done = true } end } } }))
      local till = core.mono_ns() + 400 * 1000000
      while core.mono_ns() < till do end
      return { done = true }
    end } } }
    assert.equal("completed", assert(skill:run { work_dir = R.folder() .. "/run" }).status)
  end)

  it("no_progress is theirs, and raised as theirs", function()
    local dir = R.folder() .. "/run"
    local skill = R.skill { actions = { { id = "out", run = function(_, ctx)
      local sub = assert(ctx.run(R.skill { name = "sub", limits = { no_progress = 2 }, state = { n = 0 },
        actions = { { id = "same", when = "n === 0", max_runs = 5, run = function() return {} end } } }))
      return { ran = sub.steps }
    end } } }
    local result = assert(skill:run { work_dir = dir })
    assert.same({ "paused", "no_progress", "sub/1.1/no_progress" }, { result.status, result.reason, result.limit })
    result = assert(skillrt.resume(dir, { skill = skill, add = { ["sub/1.1/no_progress"] = 10 } }))
    assert.same({ "completed", 5 }, { result.status, result.state.ran })
  end)

  it("costs a choice the same however many steps are open", function()
    -- instructions of Lua, in tens, of 100 looks at the limits while so many steps are open
    local function cost(count)
      local books = require("skillrt.run.books").new()
      for i = 1, count do
        require("skillrt.run.step.step").add(books, { number = i, id = "a", kind = "action", started_at = os.time() * 1000 })
      end
      local limits = require("skillrt.run.limits").new { books = books, skill = { phases = {}, limits = { max_iterations = 9 },
        actions = { { id = "a", limits = { run_timeout = 3600 } } } } }
      local tens = 0
      debug.sethook(function() tens = tens + 1 end, "", 10)
      for _ = 1, 100 do
        assert(not limits:reached() and limits:due())
      end
      debug.sethook()
      return tens
    end
    local few, many = cost(10), cost(10000)
    assert(many <= 2 * few + 10, ("10 steps: %d, 10000 steps: %d"):format(few, many))
  end)

  it("ends the run by what its steps took together, those that run side by side, too", function()
    local result = assert(R.run { limits = { max_parallel = 3 }, phases = {
      { id = "slow", parallel = true, limits = { run_timeout = 0.1 }, run = function(_, ctx) ctx.sleep(30) end },
      { id = "other", parallel = true, run = function(_, ctx) ctx.sleep(30) end },
    } })
    assert.same({ "paused", "run_timeout", "slow.run_timeout" }, { result.status, result.reason, result.limit })
  end)
end)
