-- run_machine_kept_spec.lua: what a machine keeps: state, history and metrics over every kill, nested machines, and
-- what a transition costs however many there were.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local machine_of = require "tests.support.target_machine"
local skillrt = require "skillrt"

-- A state as text without what differs from run to run.
local function told(state)
  return assert(json.encode(R.without_times(state), { indent = 1 }))
end

-- A way through an error, a loop back and a wait, with an agent that is a program.
local function wandering(change)
  return machine_of.of({
    execute_action = function(state, ctx)
      local said = ctx.await { kind = "command", argv = { "echo", "done" }, idempotent = true }
      ctx.await { kind = "sleep", seconds = 0.001 }
      if state.error_count == 0 then
        return nil, "no compiler"
      end
      return { said = said.stdout }
    end,
    verify_result = function(state)
      return { looked = (state.looked or 0) + 1, validation = { passed = state.looked == 1 } }
    end,
  }, change)
end

describe("a machine that is killed", function()
  after_each(R.clean)

  it("shows state, history, context and metrics in state.json (R143)", function()
    local dir = R.folder() .. "/run"
    assert(R.run(machine_of.of(), { work_dir = dir, input = { target = "test" } }))
    local shown = R.json(dir .. "/state.json")
    assert.equal("completed", shown.state)
    assert.same({ "initialized", "collecting_context" }, { shown.history[1].state, shown.history[2].state })
    for _, one in ipairs(shown.history) do
      assert.matches("^%d+%-%d+%-%d+T[%d:.]+Z$", one.timestamp)
    end
    assert.same({ "test", { "a.c" }, {} }, { shown.context.target, shown.context.files, shown.context.findings })
    assert.same({ 6, 6, 0 }, { shown.metrics.actions_executed, shown.metrics.state_transitions,
      shown.metrics.error_count })
    assert.equal(shown.history[1].timestamp, shown.metrics.start_time)
  end)

  it("moves in the record in which the action is done, and nowhere else (R150)", function()
    local dir = R.folder() .. "/run"
    assert(R.run(wandering(), { work_dir = dir }))
    local at = "initialized"
    for _, record in ipairs(R.records(dir)) do
      if record.t == "done" then
        assert.equal(at, record.move.from)
        assert.is_string(record.move.action)
        assert.is_number(record.at)
        at = record.move.to
      elseif record.t == "fail" then
        assert.same({ from = "planning", action = "execute_action" }, { from = record.move.from,
          action = record.move.action })
        assert.is_nil(record.move.to) -- handle_error moves it
      else
        assert.is_true(record.t == "run" or record.move == nil)
      end
    end
    assert.equal("completed", at)
  end)

  it("keeps as many entries of its history as it is told, the newest (R143, F63)", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run(wandering(function(given) given.machine.history = 6 end), { work_dir = dir }))
    local list = result.state.history
    assert.is_true(#list <= 6 and #list >= 3)
    assert.equal("completed", list[#list].state)
    assert.equal(13, result.state.metrics.state_transitions)
  end)

  it("tries a failed action again in the state in which it failed (R69)", function()
    local dir, broken = R.folder() .. "/run", true
    local function definition()
      return machine_of.of({ execute_action = function()
        if broken then
          return nil, "no compiler"
        end
      end, abort = function() end }, function(given) given.state.recoverable_errors = {} end)
    end
    local result = assert(R.run(definition(), { work_dir = dir }))
    assert.same({ "failed", "failed" }, { result.status, result.state.state })
    broken = false
    result = assert(skillrt.resume(dir, { skill = R.skill(definition()), retry = true }))
    assert.equal("completed", result.status, result.message)
    assert.is_nil(result.state.error)
  end)
end)

-- A machine of two states that goes to and fro.
local function pendulum(times)
  return {
    name = "pendulum",
    context = "memory",
    state = { n = 0 },
    limits = { max_iterations = times + 10 },
    machine = {
      initial = "left",
      states = { "left", "right", "completed", "failed" },
      edges = {
        { action = "finish", from = { "left", "right" }, to = "completed", when = ("n >= %d"):format(times) },
        { action = "swing", from = "left", to = "right" },
        { action = "back", from = "right", to = "left", max_runs = times },
      },
    },
    actions = {
      { id = "swing", run = function(state) return { n = state.n + 1 } end },
      { id = "back", run = function(state) return { n = state.n + 1 } end },
      { id = "finish" },
    },
  }
end

describe("a machine", function()
  after_each(R.clean)

  it("may be an action of another: a state that has states of its own is a skill (R117)", function()
    local dir = R.folder() .. "/run"
    local inner = R.skill(machine_of.of(nil, function(given) given.name = "inner" end))
    local function definition()
      return {
        name = "outer",
        machine = {
          initial = "begun", states = { "begun", "completed", "failed" },
          edges = {
            { action = "work", from = "begun", to = "completed" },
            { action = "handle_error", from = "*", to = "failed" },
          },
        },
        actions = { { id = "work", skill = { inner, as = "inner" } }, { id = "handle_error" } },
      }
    end
    local whole = assert(R.run(definition(), { work_dir = dir }))
    assert.same({ "completed", "completed", "completed" }, { whole.status, whole.state.state, whole.state.inner.state })
    assert.equal(6, whole.state.inner.metrics.state_transitions)
    for keep = 1, #R.records(dir) - 1, R.EVERY do
      local copy = R.folder() .. "/cut"
      R.cut(dir, copy, keep)
      local result = assert(skillrt.resume(copy, { skill = R.skill(definition()), books_bytes = 1 }))
      assert.equal(told(whole.state), told(result.state), ("cut behind record %d"):format(keep))
    end
  end)

  it("is told that it goes round in a circle and changes nothing (F33, F61)", function()
    local definition = pendulum(100)
    definition.actions[1].run, definition.actions[2].run = function() end, function() end
    definition.machine.edges[3].max_runs = nil
    local result = assert(R.run(definition))
    assert.same({ "paused", "no_progress" }, { result.status, result.reason })
    definition.machine.edges[3].max_runs = 20 -- what has a limit of its own may go round
    result = assert(R.run(definition))
    assert.same({ "failed", "edge_limit" }, { result.status, result.reason })
  end)

  it("takes its 2,000th transition in the steps of the virtual machine that its 400th took (F63)", function()
    local books_of, outcome = require "skillrt.run.books", require "skillrt.run.outcome"
    local definition = pendulum(2000)
    definition.machine.edges[2].max_runs = 2000
    local skill, books = R.skill(definition), books_of.new()
    books_of.apply(books, { t = "run", run = "r", skill = "pendulum", mode = "machine", move = skill.machine.begins,
      state = skill.state, input = {}, pins = {}, at = 0 })
    local mode, run = require("skillrt.mode.machine").new(skill, books, {}), { skill = skill, books = books }
    local function transition(step)
      local kind, chosen = mode:choose()
      assert(kind == "start")
      books_of.apply(books, { t = "start", step = step, action = chosen[1].id, n = step, at = 1,
        edge = mode:edge_of(chosen[1]) })
      local entry = assert(outcome.record(run, books.steps[step], chosen[1], { n = books.state.root.n + 1 }))
      books_of.apply(books, entry)
      books.state:whole_fingerprint()
    end
    -- Instructions of Lua, in tens, of 200 transitions up to this one.
    local counted, step = {}, 0
    for _, upto in ipairs { 200, 400, 1800, 2000 } do
      local tens = 0
      debug.sethook(function() tens = tens + 1 end, "", 10)
      while step < upto do
        step = step + 1
        transition(step)
      end
      debug.sethook()
      counted[upto] = tens
    end
    assert.equal(2000, books.state.root.metrics.state_transitions)
    assert.is_true(counted[400] > 1000 and counted[2000] < counted[400] * 1.1,
      ("%d, then %d"):format(counted[400], counted[2000]))
  end)
end)
