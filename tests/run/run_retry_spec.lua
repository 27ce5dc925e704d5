-- run_retry_spec.lua: the last failed step tried again (R70), and a run that is never begun anew.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local fails, order, sets = R.fails, R.order, R.sets

describe("retry", function()
  after_each(R.clean)

  it("finds the journal of a step readable that raised an error of its own behind a call that failed", function()
    local dir = R.folder() .. "/run"
    local function definition(fixed)
      return { actions = { { id = "slip", run = function(_, ctx)
        local reply, message = ctx.await { kind = "command", argv = { "false" } }
        if not fixed then error("a slip of the script, which blames no call") end
        return { reply = reply or false, message = message }
      end } } }
    end
    local result = assert(R.run(definition(), { work_dir = dir }))
    assert.equal("script_error", result.reason, result.message)
    result = assert(skillrt.resume(dir, { skill = R.skill(definition(true)) }))
    assert.equal("completed", result.status, result.message)
    assert.truthy(result.state.message)
  end)

  it("forces the last failed action and takes one off the errors (R70, F39)", function()
    local broken = true
    local function definition()
      return {
        actions = {
          { id = "bad", priority = 1, run = function()
            if broken then
              return nil, "still broken"
            end
            return { good = true }
          end },
          { id = "other", priority = 9, when = "good", run = sets {} },
        },
      }
    end
    local dir = R.folder() .. "/run"
    local result = assert(R.run(definition(), { work_dir = dir }))
    assert.same({ "failed", "error_limit", 3 }, { result.status, result.reason, result.state.error_count })
    broken = false
    result = assert(skillrt.retry(dir, { skill = R.skill(definition()) }))
    assert.equal("completed", result.status, result.message)
    assert.equal(2, result.state.error_count)
    assert.equal("bad bad bad bad other", order(dir))
    assert.same({ "bad", "other" }, result.state.completed_actions)
  end)

  it("works after the abort hook has run, which is forgotten (R70, F27)", function()
    local broken = true
    local function definition()
      return { limits = { max_errors = 1 }, actions = {
        { id = "bad", run = function()
          if broken then return nil, "broken" end
        end },
        { id = "action-abort", run = sets {} },
      } }
    end
    local dir = R.folder() .. "/run"
    assert.equal("failed", R.run(definition(), { work_dir = dir }).status)
    broken = false
    local result = assert(skillrt.retry(dir, { skill = R.skill(definition()) }))
    assert.equal("completed", result.status, result.message)
    assert.same({ "bad" }, result.state.completed_actions)
  end)

  it("lets an action that was given up run as often as it may, in the loop of a hybrid run, too (R70)", function()
    for _, phases in ipairs { false, { { id = "p", trailing = true, run = sets {} } } } do
      local broken = true
      local function definition()
        return { state = { n = 0 }, limits = { max_retries = 0 }, phases = phases or nil,
          on_loop_failed = phases and "run_finalize" or nil, actions = {
          { id = "a", max_runs = 2, when = "n < 2", on_error = "continue", run = function(state)
            if broken then return nil, "broken" end
            return { n = state.n + 1 }
          end },
        } }
      end
      local dir = R.folder() .. "/run"
      assert.equal("failed", R.run(definition(), { work_dir = dir }).status)
      broken = false
      local result = assert(skillrt.retry(dir, { skill = R.skill(definition()) }))
      assert.same({ "completed", 2 }, { result.status, result.state.n }, result.message)
    end
  end)

  it("lets an action run as often as it may about whose call somebody had decided (R70)", function()
    local go, dir = R.folder() .. "/go", R.folder() .. "/run"
    local function skill()
      return R.skill { state = { n = 0 }, actions = { { id = "a", max_runs = 2, when = "n < 2", run = function(state, ctx)
        assert(ctx.await { kind = "command", argv = { "sh", "-c", ("test -e %s || kill -9 $$"):format(go) } })
        return { n = state.n + 1 }
      end } } }
    end
    assert.equal("needs_decision", skill():run { work_dir = dir }.reason)
    assert.equal("failed", assert(skillrt.resume(dir, { skill = skill(), answer = "fail" })).status)
    R.write(go, "")
    local result = assert(skillrt.retry(dir, { skill = skill() }))
    assert.same({ "completed", 2 }, { result.status, result.state.n }, result.message)
  end)

  it("never begins a run anew: what was done stays done (F26, R69)", function()
    local counts = { a = 0 }
    local function definition()
      return { limits = { max_errors = 1 }, actions = {
        { id = "a", priority = 2, run = function() counts.a = counts.a + 1 end },
        { id = "b", run = fails() },
      } }
    end
    local dir = R.folder() .. "/run"
    assert(R.run(definition(), { work_dir = dir }))
    assert(skillrt.retry(dir, { skill = R.skill(definition()) }))
    assert.equal(1, counts.a)
  end)

  it("refuses a second run in the folder of a first (F26, F49)", function()
    local dir = R.folder() .. "/run"
    local definition = { actions = { { id = "a", run = sets {} } } }
    assert(R.run(definition, { work_dir = dir }))
    local result, message, code = R.run(definition, { work_dir = dir })
    assert.is_nil(result)
    assert.equal("exists", code)
    assert.matches("resume", message)
  end)
end)
