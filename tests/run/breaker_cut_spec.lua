-- breaker_cut_spec.lua: the circuit breaker and what is late, of a run and inside a sub-run, killed behind every record.
local R = require "tests.support.runs"
local skillrt = require "skillrt"

describe("an action that fails in the same way again and again", function()
  after_each(R.clean)

  it("is not tried any more in a sub-run either; killed behind every record all comes to the same end (R184)", function()
    for _, inside in ipairs { false, true } do
      local function skill()
        local one = { name = "busy", retry = { base = 0.001 }, limits = { same_failures = 2, max_errors = 99, max_retries = 99 },
          timeouts = { step = 0.001 }, actions = { { id = "a", on_error = "continue", run = function(state, ctx)
            ctx.await { kind = "sleep", seconds = 0.002 }
            if state.error_count < 2 then
              return nil, "busy " .. ctx.attempt, "transient"
            end
            return { n = state.n + 1 }
          end } }, state = { n = 0 } }
        return R.skill(inside and { actions = { { id = "outer", run = function(_, ctx)
          return assert(ctx.run(R.skill(one), {})).state
        end } } } or one)
      end
      local dir = R.folder() .. "/run"
      local function to_the_end(at, first)
        local result, pauses = first, 0
        while result.status == "paused" do
          assert.equal("same_failure", result.reason, result.message)
          pauses = pauses + 1
          assert.is_true(pauses < 9)
          result = assert(skillrt.resume(at, { skill = skill() }))
        end
        assert.same({ "completed", 1 }, { result.status, result.state.n }, result.message)
        return pauses
      end
      assert.is_true(to_the_end(dir, assert(skill():run { work_dir = dir })) >= 1)
      local late = 0
      for keep, record in ipairs(R.records(dir)) do
        late = late + (record.t == "late" and 1 or 0)
        if keep < #R.records(dir) then
          local copy = R.folder() .. "/cut"
          R.cut(dir, copy, keep)
          to_the_end(copy, assert(skillrt.resume(copy, { skill = skill() })))
        end
      end
      assert.is_true(late <= (inside and 2 or 1)) -- told once for a step
    end
  end)

  it("is gone on with by a plain resume, and what is to be typed says so", function()
    local closing = require "skillrt.report.closing"
    assert.equal("skillrt resume w", (closing.next({ status = "paused", reason = "same_failure", limit = "same_failures" },
      "w")))
    assert.equal("skillrt resume w --add calls=NUMBER", (closing.next({ status = "paused", reason = "call_limit",
      limit = "calls" }, "w")))
  end)
end)
