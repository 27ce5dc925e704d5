-- run_autonomous_spec.lua: actions whose conditions hold, until the run ends: whole runs.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local fails, order, sets = R.fails, R.order, R.sets

local function run(definition)
  local dir = R.folder() .. "/run"
  local result, message = R.run(definition, { work_dir = dir })
  return assert(result, message), dir
end

describe("an autonomous run", function()
  after_each(R.clean)

  it("chooses the runnable action of the highest priority until all have run (R65, R68)", function()
    local result, dir = run {
      state = { a = false },
      actions = {
        { id = "low", priority = 1, run = sets { low = true } },
        { id = "after-a", priority = 9, when = "a", run = sets {} },
        { id = "set-a", priority = 5, run = sets { a = true } },
      },
    }
    assert.equal("set-a after-a low", order(dir))
    assert.equal("completed", result.status)
    assert.equal("task_completed", result.reason)
    assert.same({ "set-a", "after-a", "low" }, result.state.completed_actions)
    assert.is_nil(result.state.current_action)
    assert.is_true(result.state.low)
    assert.equal(3, result.steps)
  end)

  it("begins as pending, and is running once the first action was chosen (R56, F38)", function()
    local seen = {}
    local result = run {
      actions = {
        { id = "init", when = "status === 'pending'", run = function(state)
          seen[1], seen[2] = state.status, state.current_action
          return { pending_items = { 1 } }
        end },
        { id = "process", when = "status === 'running' && pending_items.length > 0", run = function(state)
          seen[3] = state.status
          return { pending_items = {} }
        end },
      },
    }
    assert.same({ "running", "init", "running" }, seen)
    assert.equal("completed", result.state.status)
    assert.same({}, result.state.pending_items)
    assert.is_true(json.is_array(result.state.pending_items))
    assert.is_string(result.state.started_at)
    assert.same({}, result.state.errors)
  end)

  it("asks conditions on what the runtime itself counts with every step, and leaves it out where none does (R60)", function()
    for name, third in pairs {
      ["an expression"] = "iteration_count === 3",
      ["an expression on a whole"] = "[iteration_count].includes(3)",
      ["a function"] = function(state) return state.iteration_count == 3 end,
      ["none"] = "n === 3",
    } do
      local _, dir = run {
        state = { n = 0 },
        actions = {
          { id = "count", when = "n < 5", max_runs = 9, run = function(state) return { n = state.n + 1 } end },
          { id = "third", priority = 99, when = third, run = sets {} },
        },
      }
      assert.equal("count count count third count count", order(dir), name)
    end
  end)

  it("shows all fields of the state in state.json, with updated_at (R43, R56)", function()
    local _, dir = run { state = { n = 1 }, actions = { { id = "a", run = sets { n = 2 } } } }
    local shown = R.json(dir .. "/state.json")
    for _, field in ipairs { "status", "current_action", "completed_actions", "errors", "error_count",
      "updated_at", "context", "iteration_count" } do
      assert.is_not_nil(shown[field], field)
    end
    assert.equal(2, shown.n)
    assert.equal("completed", shown.status)
    assert.matches("^%d+%-%d+%-%d+T[%d:.]+Z$", shown.updated_at)
    assert.matches('\n  "n": 2', R.read(dir .. "/state.json"))
  end)

  it("asks termination conditions before everything else (R59, R82)", function()
    local result, dir = run {
      state = { stop = false },
      terminate = { "stop", { when = "bad", status = "failed", reason = "went_bad" } },
      actions = {
        { id = "a", priority = 2, run = sets { stop = true } },
        { id = "b", priority = 1, run = sets {} },
      },
    }
    assert.equal("a", order(dir))
    assert.same({ "completed", "stop" }, { result.status, result.reason })
    result = run {
      terminate = { { when = "bad", status = "failed", reason = "went_bad" } },
      actions = { { id = "a", run = sets { bad = true } }, { id = "b", run = sets {} } },
    }
    assert.same({ "failed", "went_bad" }, { result.status, result.reason })
  end)

  it("records a failure and goes on, and gives up after the third (R66, F29)", function()
    local result, dir = run {
      actions = { { id = "a", run = fails "no luck" }, { id = "never", when = "false", run = sets {} } },
    }
    assert.same({ "failed", "error_limit" }, { result.status, result.reason })
    assert.equal("a a a", order(dir))
    assert.equal(3, result.state.error_count)
    assert.equal("a", result.state.errors[1].action)
    assert.equal("no luck", result.state.errors[1].message)
    assert.is_string(result.state.errors[1].timestamp)
    assert.same({}, result.state.completed_actions)
    assert.is_nil(result.state.current_action)
    assert.matches("no luck", result.message)
  end)

  it("runs action-abort and action-complete only where they are declared (F27)", function()
    local result, dir = run {
      actions = {
        { id = "bad", run = fails() },
        { id = "action-abort", run = sets { cleaned = true } },
      },
    }
    assert.equal("bad bad bad action-abort", order(dir))
    assert.same({ "failed", "error_limit", true }, { result.status, result.reason, result.state.cleaned })
    result, dir = run {
      actions = {
        { id = "work", priority = 5, run = sets {} },
        { id = "action-complete", when = "completed_actions.includes('work')", run = sets { said = "bye" } },
      },
    }
    assert.equal("work action-complete", order(dir))
    assert.same({ "completed", "task_completed", "bye" }, { result.status, result.reason, result.state.said })
  end)

  it("ends after a terminal action, whatever is left (R94)", function()
    local result, dir = run {
      actions = {
        { id = "give-up", priority = 2, terminal = "aborted" },
        { id = "rest", priority = 1, run = sets {} },
      },
    }
    assert.equal("give-up", order(dir))
    assert.same({ "aborted", "give-up" }, { result.status, result.reason })
  end)

  it("tells blocked from done, naming what no condition was met for (F28, R83)", function()
    local result = run {
      actions = { { id = "a", run = sets {} }, { id = "b", when = { "x > 3", "y" }, run = sets {} } },
    }
    assert.same({ "paused", "blocked" }, { result.status, result.reason })
    assert.equal("b: x is undefined, wanted x > 3; y is undefined, wanted y", result.message)
  end)

  it("does not wait for an action that is optional (F28)", function()
    local result = run {
      actions = { { id = "a", run = sets {} }, { id = "b", optional = true, when = "x", run = sets {} } },
    }
    assert.same({ "completed", "task_completed" }, { result.status, result.reason })
  end)

  it("runs an action once, or max_runs times, or without end where it is repeatable (F33)", function()
    local count = function(state)
      return { n = (state.n or 0) + 1 }
    end
    local result = run { actions = { { id = "a", run = count } } }
    assert.equal(1, result.state.n)
    result = run { actions = { { id = "a", max_runs = 4, run = count } } }
    assert.equal(4, result.state.n)
    assert.same({ "a" }, result.state.completed_actions)
    result = run { state = { n = 0 }, actions = { { id = "a", when = "n < 7", repeatable = true, run = count } } }
    assert.equal(7, result.state.n)
    assert.equal("completed", result.status)
  end)

  it("fails at max_iterations, counted over resumes (R57, F30)", function()
    local function definition(limit)
      return {
        state = { n = 0 },
        limits = { max_iterations = limit },
        terminate = { { when = "n === 3", status = "paused", reason = "tea" }, "max_iterations" },
        actions = { { id = "a", repeatable = true, run = function(state) return { n = state.n + 1 } end } },
      }
    end
    local dir = R.folder() .. "/run"
    local result = assert(R.run(definition(5), { work_dir = dir }))
    assert.same({ "paused", "tea", 3 }, { result.status, result.reason, result.state.iteration_count })
    local again = definition(5)
    again.terminate = { "max_iterations" }
    result = assert(skillrt.resume(dir, { skill = R.skill(again) }))
    assert.same({ "failed", "max_iterations" }, { result.status, result.reason })
    assert.equal(5, result.state.iteration_count)
    assert.equal(100, skillrt.skill({ name = "x", actions = { { id = "a", run = print } } }).limits.max_iterations)
  end)

  it("stops when the same action is chosen in the same state more than three times (F33)", function()
    local result, dir = run { actions = { { id = "a", repeatable = true, run = sets {} } } }
    assert.same({ "paused", "no_progress" }, { result.status, result.reason })
    assert.equal("a a a", order(dir))
    assert.equal("a was chosen 3 times and nothing that it depends on changed: it reads nothing; it gave nothing",
      result.message)
    result = run { state = { n = 1 }, actions = { { id = "a", when = "n < 3 && !done", max_runs = 9, run = sets { m = 1 } } } }
    assert.equal("a was chosen 3 times and nothing that it depends on changed: it reads done, n; it gave m", result.message)
  end)

  it("takes any change of the state for progress, not only of what conditions read (F33)", function()
    local result = run {
      state = { queue = { 1, 2, 3, 4, 5, 6 }, done = false },
      actions = { { id = "a", when = "!done", repeatable = true, run = function(state)
        local rest = { table.unpack(state.queue, 2) }
        return { queue = rest, done = #rest == 0 }
      end } },
    }
    assert.equal("completed", result.status, result.message)
  end)

  it("notices that it goes round in a circle (F33)", function()
    local result, dir = run {
      state = { x = false },
      actions = { { id = "a", repeatable = true, run = function(state) return { x = not state.x } end } },
    }
    assert.same({ "paused", "no_progress" }, { result.status, result.reason })
    assert.is_true(#R.records(dir, "start") <= 10)
  end)
end)

describe("a run with a run_timeout", function()
  after_each(R.clean)

  it("pauses when its time is up, also in the middle of a request, and can be resumed (R179, R180)", function()
    local folder = R.folder()
    local function definition(seconds)
      return {
        limits = { run_timeout = seconds },
        actions = { { id = "a", agent = skillrt.agent.command { "sh", "-c",
          ("[ -e %s/go ] || exec sleep 30"):format(folder), idempotent = true } } },
      }
    end
    local begun = os.time()
    local result = assert(R.run(definition(0.1), { work_dir = folder .. "/run" }))
    assert.same({ "paused", "run_timeout" }, { result.status, result.reason })
    assert.matches("longer than run_timeout, 0.1 seconds", result.message)
    assert.is_true(os.time() - begun < 25)
    assert.equal(0, result.state.error_count)
    R.write(folder .. "/go", "")
    result = assert(skillrt.resume(folder .. "/run", { skill = R.skill(definition(100)) }))
    assert.equal("completed", result.status, result.message)
  end)

  it("pauses between two steps", function()
    local result = run {
      limits = { run_timeout = 0.05, max_iterations = 1000000 },
      state = { n = 0 },
      actions = { { id = "a", repeatable = true, run = function(state) return { n = state.n + 1 } end } },
    }
    assert.same({ "paused", "run_timeout" }, { result.status, result.reason })
  end)
end)

describe("the updates of a step", function()
  after_each(R.clean)

  it("cannot touch what only the runtime writes; what was left out is recorded (F34, F35)", function()
    local result, dir = run {
      actions = { { id = "a", run = sets {
        completed_actions = {}, errors = "gone", error_count = -99, status = "completed", _x = 1, ok = true,
      } } },
    }
    assert.same({ "a" }, result.state.completed_actions)
    assert.equal(0, result.state.error_count)
    assert.is_true(result.state.ok)
    assert.is_nil(result.state._x)
    assert.same({ "_x", "completed_actions", "error_count", "errors", "status" }, R.records(dir, "done")[1].refused)
  end)

  it("may set keys of the context, which are merged into it (R6, R49)", function()
    local result, dir = run {
      context = "file",
      actions = {
        { id = "a", run = sets { context = { files = { "x" }, kept = 1 }, ok = true } },
        { id = "b", when = "context.files.length === 1", run = sets { context = { files = { "y", "z" } } } },
      },
    }
    assert.same({ "a", "b" }, result.state.completed_actions)
    assert.same({ files = { "y", "z" }, kept = 1 }, result.state.context)
    assert.is_nil(R.records(dir, "done")[1].refused)
    assert.same({ "y", "z" }, R.json(dir .. "/context/files.json"))
  end)

  it("are refused with a dotted key, or in the wrong type (F34, F36)", function()
    local result = run { limits = { max_errors = 1, max_retries = 0 },
      actions = { { id = "a", run = sets { ["findings.security"] = 1 } } } }
    assert.matches("dotted key", result.state.errors[1].message)
    result = run { limits = { max_errors = 1, max_retries = 0 }, schema = { files = "string[]" },
      actions = { { id = "a", run = sets { files = "one" } } } }
    assert.matches('update "files": declared as string%[%], got a string', result.state.errors[1].message)
    assert.equal("permanent", result.state.errors[1].class)
  end)

  it("that cannot be used are not asked for again: the function would give the same (F36)", function()
    for problem, value in pairs { ["run returned 7"] = 7, ["cannot encode a function"] = { f = print } } do
      local calls = 0
      local result = run { limits = { max_errors = 1, max_retries = 3 }, actions = {
        { id = "a", run = function() calls = calls + 1 return value end },
      } }
      assert.matches(problem, result.state.errors[1].message)
      assert.equal(1, calls)
    end
  end)

  it("merge as RFC 7396 says: objects merge, null removes, lists are replaced (F36, R65)", function()
    local result = run {
      state = { box = { a = 1, b = { c = 2, d = 3 } }, list = { 1, 2 }, gone = "x" },
      actions = { { id = "a", run = sets {
        box = { b = { c = json.null, e = 5 } }, list = { 9 }, gone = json.null,
      } } },
    }
    assert.same({ a = 1, b = { d = 3, e = 5 } }, result.state.box)
    assert.same({ 9 }, result.state.list)
    assert.is_nil(result.state.gone)
  end)

  it("do not take over a table that two runs share (F37)", function()
    local definition = { state = { list = { 1 } }, actions = { { id = "a", run = function(state)
      return { list = { state.list[1], #state.list + 1 } }
    end } } }
    assert.same({ 1, 2 }, run(definition).state.list)
    assert.same({ 1, 2 }, run(definition).state.list)
    assert.same({ 1 }, definition.state.list)
  end)

  it("are checked against the effects, which warn (F46)", function()
    local result, dir = run {
      state = { n = 1, box = { a = 1 } },
      actions = { { id = "a", effects = { "n=2", "box.b=3", "box.a=1", "n++" }, run = sets { n = 1, box = { b = 3 } } } },
    }
    assert.equal("completed", result.status)
    local missed = R.records(dir, "done")[1].missed
    assert.equal(2, #missed)
    assert.matches("^n=2: n is 1", missed[1])
    assert.matches("^n%+%+", missed[2])
  end)

  it("that are partial change the state, but do not complete the action (F18)", function()
    local result, dir = run {
      agents = { one = skillrt.agent.command { "echo", '{"status":"partial","stateUpdates":{"n":1}}', parse = "json" } },
      actions = { { id = "a", agent = "one", max_runs = 2 } },
    }
    assert.equal("a a", order(dir))
    assert.equal(1, result.state.n)
    assert.same({}, result.state.completed_actions)
    assert.same({ "paused", "blocked" }, { result.status, result.reason })
    assert.matches("ran 2 times without completing", result.message)
  end)
end)
