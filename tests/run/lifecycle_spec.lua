-- lifecycle_spec.lua: steps by the execution protocol: prepared, executed, validated, repaired, cleaned up; what the
-- classes of failure lead to. Killed behind every record, a run by the protocol ends as it did without.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local function run(action, more)
  local dir = R.folder() .. "/run"
  action.id = action.id or "a"
  local definition = { limits = { max_errors = 1, max_retries = 0 }, actions = { action } }
  for key, value in pairs(more or {}) do
    if key == "actions" then
      table.move(value, 1, #value, 2, definition.actions)
    else
      definition[key] = value
    end
  end
  return assert(R.run(definition, { work_dir = dir })), dir, definition
end

local function stages(dir)
  local list = {}
  for _, record in ipairs(R.records(dir)) do
    list[#list + 1] = record.stage or record.t == "fail" and "failed" or record.t == "done" and "completed" or nil
  end
  return table.concat(list, " ")
end

local function command(script)
  return { kind = "command", argv = { "sh", "-c", script } }
end

describe("a step by the protocol", function()
  after_each(R.clean)

  -- A step with all its functions, and one behind it: what was called, in its order.
  local function whole()
    local seen = {}
    local function sees(word, value)
      return function()
        seen[#seen + 1] = word
        return value
      end
    end
    local result, dir = run({ prepare = sees "prepare", run = sees("run", { v = 1 }),
      validate = sees("validate", true), cleanup = sees "cleanup" }, { actions = { { id = "b", when = "v === 1",
        run = function(state) return { got = state.v } end } } })
    return result, dir, seen
  end

  it("is prepared, executed, validated and cleaned up, in this order (R156, R158)", function()
    local _, _, seen = whole()
    assert.same({ "prepare", "run", "validate", "cleanup" }, seen)
  end)

  it("says in the journal which of its states it is in (R169, R170)", function()
    local _, dir = whole()
    assert.equal("preparing executing validating completed completed", stages(dir))
  end)

  it("hands on what it made to the next (R160)", function()
    local result = whole()
    assert.same({ "completed", 1, 1 }, { result.status, result.state.v, result.state.got })
  end)

  it("says its stage in status, while the run's status stays as it is (F38, F68)", function()
    local result, dir = run { prepare = function(_, ctx) ctx.ask "ready?" end, run = R.sets { v = 1 } }
    assert.equal("paused", result.status)
    local status = require("skillrt.report.status")
    local books, report = require("skillrt.run.look").books(dir)
    local told = status.of(dir, books, report)
    assert.equal("preparing", told.open[1].stage)
    assert.equal("running", R.records(dir, "stage")[1] and "running")
    assert.matches("a, preparing, since", table.concat(status.lines(told, books), "\n"))
  end)

  it("that is not prepared fails in preparing, and is cleaned up (R157, R183)", function()
    local cleaned
    local result, dir = run {
      prepare = function() return nil, "the board is not there", "permanent" end,
      run = function() error "never" end,
      cleanup = function(_, _, ended) cleaned = ended.status .. ": " .. ended.message end,
    }
    assert.equal("failed", result.status)
    assert.equal("failed: preparing: the board is not there", cleaned)
    assert.equal("preparing failed", stages(dir))
  end)

  it("that failed prepares again with its attempt counted, and cleans up each time (F66, R171)", function()
    local cleaned = 0
    local _, dir = run({
      prepare = function() end,
      run = function(_, ctx) if ctx.attempt < 3 then return nil, "not yet", "transient" end end,
      cleanup = function() cleaned = cleaned + 1 end,
    }, { limits = { max_retries = 3 } })
    assert.equal("preparing executing failed preparing executing failed preparing executing validating completed",
      stages(dir))
    assert.equal(3, cleaned)
    assert.same({ 1, 2 }, { R.records(dir, "fail")[1].attempt, R.records(dir, "fail")[2].attempt })
  end)

  it("cleans up after an error that was raised, and keeps its place (F66, R184)", function()
    local cleaned
    local result, dir = run { run = function() error "broken" end,
      cleanup = function(_, _, ended) cleaned = ended.message end }
    assert.matches("lifecycle_spec.lua:%d+: broken", cleaned)
    assert.matches("lifecycle_spec.lua:%d+: broken", result.message)
    assert.matches("stack traceback", R.records(dir, "fail")[1].traceback)
  end)

  it("goes on where cleaning up fails, and says so; its calls keep no other attempt away", function()
    local tries = 0
    local result, dir = run({
      run = function(_, ctx)
        tries = ctx.attempt
        return ctx.attempt < 2 and error { message = "again", class = "transient" } or { v = 1 }
      end,
      cleanup = function(_, ctx)
        assert(ctx.await(command "true"))
        error "no"
      end,
    }, { limits = { max_retries = 1 } })
    assert.same({ "completed", 2 }, { result.status, tries })
    assert.matches("cleanup failed: .*: no", R.records(dir, "note")[1].text)
  end)
end)

describe("a returned failure and a raised one", function()
  after_each(R.clean)

  it("follow one rule: a class that may pass is tried three times more, one for good is not (R15, R181)", function()
    local raising = { function(message, class) return nil, message, class end,
      function(message, class) return nil, { message = message, class = class } end,
      function(message, class) error { message = message, class = class } end }
    for _, class in ipairs { "transient", "permanent" } do
      for i, fails in ipairs(raising) do
        for _, protocol in ipairs { false, true } do
          local _, dir = run({ run = function() return fails("no", class) end,
            cleanup = protocol and function() end or nil }, { limits = { max_errors = 1 } })
          local records = R.records(dir, "fail")
          assert.equal(class == "transient" and 4 or 1, #records, class .. i)
          assert.same({ class, "no" }, { records[#records].class, records[#records].message })
        end
      end
    end
  end)
end)

describe("validation", function()
  after_each(R.clean)

  it("asks for repair with what was wrong, as often as `repair` says, then fails (R146, R159)", function()
    local seen = {}
    local action = { repair = 2, run = function(_, ctx)
      seen[#seen + 1] = ctx.repair and ("%d %s %s"):format(ctx.repair.round, ctx.repair.problem, ctx.repair.result.v) or "first"
      return { v = #seen }
    end, validate = function(result)
      if result.v < 3 then
        return false, "v is " .. result.v
      end
      return true
    end }
    local result, dir = run(action)
    assert.same({ "first", "1 v is 1 1", "2 v is 2 2" }, seen)
    assert.same({ "completed", 3 }, { result.status, result.state.v })
    assert.equal("preparing executing validating executing validating executing validating completed", stages(dir))
    seen, action.repair = {}, 1
    result, dir = run(action)
    assert.equal("failed", result.status)
    local failed = R.records(dir, "fail")
    assert.equal(1, #failed)
    assert.same({ "validation", "not valid: v is 2 (after 1 repair)" }, { failed[1].class, failed[1].message })
  end)

  it("judges by a schema, by the declared effects, by a function (R159)", function()
    local schema = { type = "object", properties = { n = { type = "integer" } }, required = json.array { "n" } }
    local result = run { repair = 0, run = R.sets { n = "x" }, validate = { schema = schema } }
    assert.matches("a: not valid: .*n", result.message)
    result = run { repair = 0, effects = { "done = true" }, run = R.sets { done = false },
      validate = { effects = true } }
    assert.matches("its declared effects are not true: done", result.message)
    result = run { run = R.sets { n = 1, done = true }, effects = { "done = true" },
      validate = { schema = schema, effects = true, check = function() return true end } }
    assert.equal("completed", result.status)
    result = run { run = R.sets { n = 1 }, validate = function() end }
    assert.matches("validate must return true, or false and what is wrong", result.message)
  end)

  it("tells an agent what is wrong with its result, as data, and keeps the good one", function()
    local agent = skillrt.agent.command { "sh", "-c", [[case "$1" in
      *'[REPAIR] 1'*'too small'*) echo '{"status":"completed","stateUpdates":{"v":10}}' ;;
      *) echo '{"status":"completed","stateUpdates":{"v":1}}' ;; esac]], "sh", "{prompt}", parse = "json" }
    local result, dir = run({ agent = "one", validate = function(r) return r.v > 5, "too small" end },
      { agents = { one = agent } })
    assert.same({ "completed", 10 }, { result.status, result.state.v })
    assert.equal(2, #R.records(dir, "call"))
  end)

  it("may be another agent's, whose word is kept", function()
    local critic = skillrt.agent.command { "sh", "-c", [[case "$1" in
      *'"v": 2'*) echo '{"valid":true}' ;; *) echo '{"valid":false,"problem":"v must be 2"}' ;; esac]],
      "sh", "{prompt}", parse = "json" }
    local result, dir = run({ run = function(_, ctx) return { v = ctx.repair and 2 or 1 } end, validate = "critic" },
      { agents = { critic = critic } })
    assert.same({ "completed", 2 }, { result.status, result.state.v })
    assert.matches("not valid: v must be 2; repair 1 of 2", R.records(dir, "note")[1].text)
  end)
end)

describe("classes of failure", function()
  after_each(R.clean)

  local function fails(class, message)
    return function() return nil, { class = class, message = message or "no" } end
  end

  it("context: what is declared as another source is asked (R145)", function()
    local backup = skillrt.agent.command { "sh", "-c", [[echo '{"status":"completed","stateUpdates":{"v":"agent"}}']],
      parse = "json" }
    local result, dir = run({ run = fails "context",
      sources = { function() return nil, "neither", "ContextError" end, "backup" } }, { agents = { backup = backup } })
    assert.same({ "completed", "agent" }, { result.status, result.state.v })
    assert.matches("neither; collected again from backup", R.records(dir, "note")[2].text)
    result = run { run = fails "permanent", sources = { function() return { v = "never" } end } }
    assert.equal("failed", result.status)
    result = run { run = fails "context" }
    assert.equal("failed", result.status)
  end)

  it("validation: done again with what was wrong (R146)", function()
    local result = run { repair = 1, run = function(_, ctx)
      if ctx.repair then
        return { v = ctx.repair.problem }
      end
      return nil, "too long", "validation"
    end }
    assert.same({ "completed", "too long" }, { result.status, result.state.v })
  end)

  it("execution: the alternative action is tried (R147)", function()
    local other = { id = "b", run = R.sets { v = "b" } }
    local result, dir = run({ run = fails "execution", alternative = "b" }, { actions = { other } })
    assert.same({ "completed", "b", "a b" }, { result.status, result.state.v, R.order(dir) })
    result, dir = run({ run = fails "permanent", alternative = "b" }, { actions = { { id = "b", run = R.sets {} } } })
    assert.same({ "failed", "a" }, { result.status, R.order(dir) })
    assert.error_matches(function() run { run = R.sets { v = 1 }, alternative = "b" } end,
      'field "alternative" must be the id of another action, not "b"')
  end)

  it("fatal and unknown: the run is aborted at once (R148, R183)", function()
    local result, dir = run({ run = fails "fatal", on_error = "continue" }, { actions = { { id = "b", run = R.sets {} } },
      limits = { max_errors = 5 } })
    assert.same({ "aborted", "fatal_error", "a" }, { result.status, result.reason, R.order(dir) })
    assert.matches("a: no", result.message)
    result = run({ run = fails "weird" }, { limits = { max_errors = 5 } })
    assert.same({ "aborted", "fatal_error" }, { result.status, result.reason })
    assert.matches("weird", result.message)
  end)

  it("of what one can do without: the alternative is taken, and the record says degraded (R182)", function()
    local result, dir = run({ optional = true, run = fails "permanent", alternative = "b" },
      { actions = { { id = "b", run = R.sets { v = "b" } } } })
    assert.same({ "completed", "b" }, { result.status, result.state.v })
    assert.is_true(R.records(dir, "fail")[1].degraded)
  end)
end)
