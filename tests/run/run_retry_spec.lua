-- run_retry_spec.lua: the last failed step tried again (R70), and a run that is never begun anew.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local fails, order, sets = R.fails, R.order, R.sets

describe("retry", function()
  after_each(R.clean)

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
