-- run_machine_spec.lua: runs in machine mode: every edge of seed 003's table, its conditions, errors and ends.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local machine_of = require "tests.support.target_machine"
local skillrt = require "skillrt"

local function run(runs, change, input)
  local dir = R.folder() .. "/run"
  local result, message = R.run(machine_of.of(runs, change), { work_dir = dir, input = input })
  return assert(result, message), dir
end

-- The states a run went through, in one text.
local function way(result)
  local list = {}
  for i, one in ipairs(result.state.history) do
    list[i] = one.state
  end
  return table.concat(list, " ")
end

-- Fails so often, then gives this.
local function failing(times, class, updates)
  local count = 0
  return function()
    count = count + 1
    if count <= times then
      return nil, "no luck", class
    end
    return updates
  end
end

local function simple(files)
  return function(_, ctx)
    ctx.context.set("files", files or { "a.c" })
    ctx.context.set("complexity", 1)
  end
end

local HAPPY = "initialized collecting_context analyzing planning executing verifying completed"

describe("a machine", function()
  after_each(R.clean)

  it("goes from the first state to the last: the happy path (R119, R120)", function()
    local result = run(nil, nil, { target = "test" })
    assert.equal(HAPPY, way(result))
    assert.same({ "completed", "task_completed", "completed" }, { result.status, result.reason, result.state.state })
  end)

  it("performs an action in each state: the result is verified before it completes (R123)", function()
    local _, dir = run(nil, nil, { target = "test" })
    assert.equal("collect_context analyze_target create_plan execute_action verify_result complete", R.order(dir))
  end)

  it("leads from analyzing to executing where no plan is needed (R137)", function()
    local result, dir = run { collect_context = simple() }
    assert.equal("initialized collecting_context analyzing executing verifying completed", way(result))
    assert.equal("collect_context analyze_target execute_action verify_result complete", R.order(dir))
  end)

  it("collects until there is something to analyze, and leads from executing to verifying (R122, R138)", function()
    local tries = 0
    local result, dir = run { collect_context = function(_, ctx)
      tries = tries + 1
      ctx.context.set("files", tries > 2 and { "a.c" } or json.array {})
    end }
    assert.equal("collect_context collect_context collect_context analyze_target execute_action verify_result complete",
      R.order(dir))
    assert.equal("completed", result.status)
  end)

  it("leads from verifying back to analyzing, and to another plan (R121, R139)", function()
    local tries = 0
    local result = run { verify_result = function()
      tries = tries + 1
      return { validation = { passed = tries > 1 } }
    end }
    assert.equal("initialized collecting_context analyzing planning executing verifying analyzing planning executing "
      .. "verifying completed", way(result))
  end)

  it("asks its conditions of the state: files, complexity, validation, the type of the error (R142, F62)", function()
    local result = run(nil, function(given) given.state.complexity_threshold = 10 end)
    assert.not_matches("planning", way(result))
    result = run({ execute_action = failing(1) }, function(given) given.state.recoverable_errors = { "timeout" } end)
    assert.same({ "failed", "unrecoverable" }, { result.status, result.reason })
    result = run { execute_action = failing(1) }
    assert.equal("completed", result.status)
  end)

  it("recovers from an error by handle_error, and completes (R125, R140)", function()
    local seen
    local result, dir = run({ execute_action = failing(1) }, function(given)
      given.actions[7].run = function(state) seen = { state.state, state.error.message, state.error.action } end
    end)
    assert.equal("initialized collecting_context analyzing planning error analyzing planning executing verifying completed",
      way(result))
    assert.same({ "planning", "no luck", "execute_action" }, seen)
    assert.matches("execute_action handle_error analyze_target", R.order(dir))
    assert.is_nil(result.state.error) -- dealt with
    assert.equal("permanent", result.state.errors[1].class)
  end)

  it("is led to error from any state in which an action fails, and from there to analyzing (R125, R133)", function()
    local from = { collect_context = "initialized", analyze_target = "collecting_context", create_plan = "analyzing",
      execute_action = "planning", verify_result = "executing", complete = "verifying" }
    for id, state in pairs(from) do
      local _, dir = run { [id] = failing(1, nil, { validation = { passed = true } }) }
      local moves = {}
      for _, record in ipairs(R.records(dir, "done")) do
        moves[#moves + 1] = ("%s > %s"):format(record.move.from, record.move.to)
      end
      assert.has_match(state .. " > error error > analyzing", table.concat(moves, " "), 1, true)
    end
  end)

  it("fails as unrecoverable where nothing leads out of the error, with what it was (R140, F60)", function()
    local result = run({ execute_action = failing(9) }, function(given) given.state.recoverable_errors = {} end)
    assert.same({ "failed", "unrecoverable", "failed" }, { result.status, result.reason, result.state.state })
    assert.matches("execute_action: no luck", result.message)
    result = run({ execute_action = failing(9) }, function(given)
      table.remove(given.machine.edges, 10)
      table.remove(given.actions, 8)
      given.state.recoverable_errors = {}
    end)
    assert.same({ "failed", "unrecoverable", "error" }, { result.status, result.reason, result.state.state })
    assert.matches("state error: .*analyze_target: recoverable_errors", result.message)
  end)

  it("fails where the handler itself fails, or takes an edge with a limit too often (F61)", function()
    local result = run { execute_action = failing(9), handle_error = failing(9) }
    assert.same({ "failed", "error_limit" }, { result.status, result.reason })
    result = run { execute_action = failing(99) }
    assert.same({ "failed", "unrecoverable" }, { result.status, result.reason })
    assert.equal(3, result.state.metrics.edges["error > analyzing: analyze_target"])
    assert.equal(4, result.state.error_count) -- they do not count for max_errors: the edge is what limits them
    result = run { execute_action = failing(1), analyze_target = function(state) -- tried in vain from the error
      return state.error and nil or {}, state.error and "no sense" or nil
    end }
    assert.same({ "failed", "unrecoverable" }, { result.status, result.reason })
    assert.equal(3, result.state.metrics.edges["error > analyzing: analyze_target"])
  end)

  it("fails by the limit of an edge where nothing else leads on (F61)", function()
    local result, dir = run { collect_context = function(_, ctx) ctx.context.set("files", json.array {}) end }
    assert.same({ "failed", "edge_limit", "collecting_context" }, { result.status, result.reason, result.state.state })
    assert.matches("collect_context: the edge to collecting_context was taken 3 times", result.message)
    assert.equal("collect_context collect_context collect_context collect_context", R.order(dir))
    result = run { verify_result = R.sets { validation = { passed = false } } }
    assert.same({ "failed", "edge_limit", "verifying" }, { result.status, result.reason, result.state.state })
  end)

  it("goes on where the limit of an edge is raised, from every record (F61)", function()
    local dir, found = R.folder() .. "/run", false
    local function skill()
      return R.skill(machine_of.of { collect_context = function(_, ctx)
        ctx.context.set("files", found and { "a.c" } or json.array {})
        ctx.context.set("complexity", 1)
      end })
    end
    local full = "edges.collecting_context > collecting_context: collect_context"
    local result = assert(skill():run { work_dir = dir })
    assert.same({ "failed", "edge_limit", full }, { result.status, result.reason, result.limit })
    local refused, message = skillrt.resume(dir, { skill = skill() })
    assert.is_nil(refused)
    assert.has_match(("--add '%s=NUMBER"):format(full .. "'"), message, 1, true)
    refused, message = skillrt.resume(dir, { skill = skill(), add = { ["edges.collecting_context > planning: x"] = 1 } })
    assert.is_nil(refused)
    assert.has_match(full, message, 1, true)
    result = assert(skillrt.resume(dir, { skill = skill(), add = { [full] = 2 } }))
    assert.same({ "failed", "edge_limit", 5 }, { result.status, result.reason,
      result.state.metrics.edges[full:sub(#"edges." + 1)] })
    local before = #R.records(dir)
    found = true
    result = assert(skillrt.resume(dir, { skill = skill(), add = { [full] = 1 } }))
    assert.equal("completed", result.status, result.message)
    for keep = before + 1, #R.records(dir) - 1, R.EVERY do
      local copy = R.folder() .. "/cut"
      R.cut(dir, copy, keep)
      local kept = R.records(copy)
      local again = kept[#kept].t == "stop" and { [full] = 1 } or nil
      local ended = assert(skillrt.resume(copy, { skill = skill(), add = again }))
      assert.same({ "completed", 6 }, { ended.status, ended.state.metrics.edges[full:sub(#"edges." + 1)] })
    end
  end)

  it("fails by name in a state that is none of its own (R141, F60)", function()
    local dir = R.folder() .. "/run"
    local function definition()
      return machine_of.of(nil, function(given)
        given.terminate = { { when = "state.state === 'planning'", status = "paused", reason = "look" } }
      end)
    end
    local result = assert(R.run(definition(), { work_dir = dir }))
    assert.same({ "paused", "look" }, { result.status, result.reason })
    local state = R.json(dir .. "/state.json")
    state.state = "plannning"
    R.write(dir .. "/state.json", json.encode(state))
    result = assert(require("skillrt").resume(dir, { skill = R.skill(definition()), accept_edits = true }))
    assert.same({ "failed", "unknown_state" }, { result.status, result.reason })
    assert.matches('plannning" is not a state of the machine %(did you mean "planning"%?%)', result.message)
  end)

  it("is moved by nobody but the runtime: what an agent says of the state is left out, with a word (R133)", function()
    local result, dir = run { execute_action = R.sets { state = "completed", history = {}, done = false, x = 1 } }
    assert.equal(HAPPY, way(result))
    assert.same({ false, 1 }, { result.state.done, result.state.x })
    for _, record in ipairs(R.records(dir, "done")) do
      if record.step == 4 then
        assert.same({ "history", "state" }, record.refused)
        assert.same({ from = "planning", to = "executing", action = "execute_action" }, record.move)
      else
        assert.is_nil(record.refused)
      end
    end
  end)

  it("ends as aborted in a state that says so, and is blocked where no condition holds (F60, R151)", function()
    local result = run({ execute_action = failing(1) }, function(given)
      given.state.recoverable_errors = {}
      given.machine.edges[10].to = "aborted"
    end)
    assert.same({ "aborted", "aborted", "aborted" }, { result.status, result.reason, result.state.state })
    result = run(nil, function(given) given.machine.edges[6].when = "compiler === 'there'" end)
    assert.same({ "paused", "blocked", "executing" }, { result.status, result.reason, result.state.state })
    assert.matches("state executing: verify_result: compiler is undefined, wanted compiler === 'there'", result.message)
  end)

  it("keeps pending and running for the status of the run, beside its own state (F38, F68)", function()
    local seen = {}
    local result = run({ collect_context = function(state, ctx)
      seen[1], seen[2] = state.status, state.state
      ctx.context.set("files", { "a" })
    end }, function(given) given.machine.edges[1].when = "status === 'pending'" end)
    assert.same({ "running", "initialized" }, seen)
    assert.same({ "completed", "completed" }, { result.state.status, result.status })
  end)
end)

describe("the table of a machine", function()
  after_each(R.clean)

  -- What is said of a skill that does not load.
  local function refused(change)
    local ok, message = pcall(R.skill, machine_of.of(nil, change))
    assert.is_false(ok)
    return message
  end

  it("is refused where it contradicts itself or the actions (F59)", function()
    assert.matches('analyze_target leads to "analysing", which is no state %(did you mean "analyzing"%?%)',
      refused(function(given) given.machine.edges[2].to = "analysing" end))
    assert.matches("edges%[6%]: action \"verify_results\" is not declared %(did you mean \"verify_result\"%?%)",
      refused(function(given) given.machine.edges[6].action = "verify_results" end))
    assert.matches('action "more": no edge of the machine takes it', refused(function(given)
      given.actions[9] = { id = "more", run = function() end }
    end))
    assert.matches('in state "executing" the route picks "complete", but the registry allows it only from verifying',
      refused(function(given) given.machine.routes = { executing = { "complete" } } end))
    assert.matches('complete leaves completed, which ends the run', refused(function(given)
      given.machine.edges[12] = { action = "complete", from = "completed", to = "verifying" }
    end))
    assert.matches('"history" is written by the machine', refused(function(given) given.state.history = {} end))
    assert.matches('mode "machine" and the field "machine"', refused(function(given) given.machine = nil end))
    assert.matches("a machine goes where an edge leads", refused(function(given) given.actions[1].on_error = "skip" end))
    assert.matches("a machine goes by its table", refused(function(given) given.strategy = "user_driven" end))
  end)

  it("takes the edge that an action wishes no more often than its limit lets it (F61)", function()
    local wished = { verify_result = R.sets { state = "analyzing", validation = { passed = true } } }
    local result = run(wished, function(given)
      given.machine.edges[12] = { action = "verify_result", from = "executing", to = "analyzing", max_runs = 2 }
    end)
    assert.same({ "completed", 2 }, { result.status,
      result.state.metrics.edges["executing > analyzing: verify_result"] }, result.message)
    assert.matches("executing analyzing planning executing analyzing planning executing verifying completed$", way(result))
  end)

  it("may give a state a condition for its entry, asked when the action is done (R118)", function()
    local function strict(given)
      given.machine.states[8] = { name = "completed", when = "validation.passed" }
      given.machine.edges[6] = { action = "verify_result", from = "executing", to = "completed" }
      given.machine.edges[12] = { action = "verify_result", from = "executing", to = "analyzing", max_runs = 3 }
    end
    assert.matches("executing completed$", way(run(nil, strict)))
    local tries = 0
    local result = run({ verify_result = function()
      tries = tries + 1
      return { validation = { passed = tries > 2 } }
    end }, strict)
    assert.equal("completed", result.status)
    assert.equal(2, result.state.metrics.edges["executing > analyzing: verify_result"])
    result = run({ verify_result = R.sets { validation = { passed = false } } }, function(given)
      strict(given)
      given.machine.edges[12] = nil
      given.state.recoverable_errors = {}
    end)
    assert.same({ "failed", "unrecoverable" }, { result.status, result.reason })
    assert.matches("verify_result: leads nowhere from state executing: completed: it may not be entered: "
      .. "validation.passed", result.message)
  end)

  it("may be routed by lists of conditions, and then asks the edges when the action is done (R136)", function()
    local result, dir = run({ verify_result = function(state)
      return { validation = { passed = state.again == true }, again = true }
    end }, function(given)
      given.machine.states = { "initialized", "executing", "completed", "failed", "error" }
      given.machine.edges = {
        { action = "execute_action", from = "initialized", to = "executing" },
        { action = "verify_result", from = "executing", to = "completed", when = "validation.passed" },
        { action = "verify_result", from = "executing", to = "initialized", max_runs = 2 },
        { action = "abort", from = "error", to = "failed" },
        { action = "handle_error", from = "*", to = "error" },
      }
      given.machine.routes = {
        initialized = { { action = "execute_action", when = "status !== 'never'" } },
        executing = { "verify_result" },
        error = { "abort" },
      }
      given.actions = { given.actions[4], given.actions[5], given.actions[7], given.actions[8] }
    end)
    assert.equal("execute_action verify_result execute_action verify_result", R.order(dir))
    assert.equal("completed", result.status)
  end)

  it("may be routed by a function; a transition outside the table is refused (R135, F59)", function()
    local function routed(change)
      return function(given)
        local route = { initialized = "collect_context", collecting_context = "analyze_target",
          analyzing = "execute_action", executing = "verify_result", verifying = "complete" }
        for state, id in pairs(change or {}) do
          route[state] = id or nil
        end
        given.machine.route = function(state, name)
          assert(state.state == name)
          return route[name], "nothing fits"
        end
      end
    end
    assert.equal("completed", run(nil, routed()).status)
    local result = run(nil, routed { executing = "complete" })
    assert.same({ "failed", "forbidden_transition" }, { result.status, result.reason })
    assert.matches('state executing: the route chose "complete", and no edge of it leaves this state '
      .. "%(these do: verify_result", result.message)
    result = run(nil, routed { executing = false })
    assert.same({ "paused", "blocked" }, { result.status, result.reason })
    assert.matches("nothing fits", result.message)
    result = run(nil, function(given) given.machine.route = function() error("typo", 0) end end)
    assert.same({ "paused", "strategy_error" }, { result.status, result.reason })
  end)

  it("says where a class of errors leads, and how often (R203, F62)", function()
    local function led(given)
      given.machine.errors = {
        { class = "TimeoutError", to = "collecting_context", max_runs = 2, recovery = "RETRY_WITH_ALTERNATIVE_SOURCE" },
        { class = "permanent", to = "failed" },
      }
      given.limits = { max_retries = 0 }
    end
    local seen = {}
    local result, dir = run({ analyze_target = failing(2, "timeout"), collect_context = function(state, ctx)
      seen[#seen + 1] = state.error and state.error.recovery
      ctx.context.set("files", { "a" })
    end }, function(given)
      led(given)
      given.machine.edges[2].when = "context.files.length > 0 && !error"
      given.machine.edges[3].max_runs = 9
    end)
    assert.equal("completed", result.status)
    assert.same({ "RETRY_WITH_ALTERNATIVE_SOURCE", "RETRY_WITH_ALTERNATIVE_SOURCE" }, seen)
    assert.equal(2, result.state.metrics.edges["TimeoutError > collecting_context"])
    assert.not_matches("handle_error", R.order(dir))
    result, dir = run({ execute_action = failing(1) }, led)
    assert.same({ "failed", "unrecoverable", "failed" }, { result.status, result.reason, result.state.state })
    assert.not_matches("handle_error", R.order(dir))
  end)
end)
