-- generated_machine_spec.lua: the documents of a skill with a state machine: their code run by node, and the same
-- folder run by skillrt, state by state.
local documents = require "tests.support.documents"
local json = require "skillrt.base.json"
local runs = require "tests.support.runs"

local GOOD = {
  collect_context = { { stateUpdates = { context = { files = { "a.c" }, complexity = 9 } } } },
  analyze_target = { {} },
  create_plan = { {} },
  execute_action = { {} },
  verify_result = { { stateUpdates = { validation = { passed = true } } } },
  complete = { {} },
}

local function with(changes)
  local out = {}
  for id, answers in pairs(GOOD) do
    out[id] = changes[id] or answers
  end
  return out
end

local function run(folder, answers, ...)
  return documents.in_node(folder, { calls = json.array { json.array { "runMachine", ... } }, answers = answers })
end

local function states_of(node)
  local list = {}
  for i, one in ipairs(node.state.history) do
    list[i] = one.state
  end
  return table.concat(list, " ")
end

local GOAL = { target = "test" }

describe("the documents of a state machine", function()
  after_each(runs.clean)

  it("run from the first state to the last", function()
    local node = run(documents.generate(documents.config "target-worker"), GOOD, GOAL)
    assert.same({ "collect_context", "analyze_target", "create_plan", "execute_action", "verify_result", "complete" },
      node.order)
    assert.equal("initialized collecting_context analyzing planning executing verifying completed", states_of(node))
    assert.same({ "completed", "completed", "test" }, { node.state.state, node.state.status, node.state.context.target })
    assert.same({ 6, 0, 1 }, { node.state.metrics.state_transitions, node.state.metrics.error_count,
      node.state.metrics.completion_rate })
    assert.equal(1, node.state.metrics.action_duration.create_plan.count)
  end)

  it("log each transition", function()
    local node = run(documents.generate(documents.config "target-worker"), GOOD, GOAL)
    local at = node.log[1][2].timestamp
    assert.same({ "State transition", { from = "initialized", to = "collecting_context", action = "collect_context",
      timestamp = at } }, node.log[1])
    assert.equal(6, #node.log)
  end)

  it("need no plan where the work is simple", function()
    local simple = { { stateUpdates = { context = { files = { "a.c" }, complexity = 1 } } } }
    local node = run(documents.generate(documents.config "target-worker"), with { collect_context = simple }, GOAL)
    assert.equal("initialized collecting_context analyzing executing verifying completed", states_of(node))
  end)

  it("take the way of an error's class, and complete all the same", function()
    local node = run(documents.generate(documents.config "target-worker"), with {
      analyze_target = { { status = "failed", class = "ContextError", summary = "no access" }, {} },
      execute_action = { { status = "failed", summary = "no compiler" }, {} },
    }, GOAL)
    assert.equal("initialized collecting_context collecting_context analyzing planning error analyzing planning executing "
      .. "verifying completed", states_of(node))
    assert.same({ "ContextError", "ExecutionError" }, { node.state.errors[1].class, node.state.errors[2].class })
  end)

  it("end as failed on a fatal error, and on one that comes too often", function()
    local folder = documents.generate(documents.config "target-worker")
    local fatal = { { status = "failed", class = "FatalError", summary = "disk gone" } }
    assert.equal("failed", run(folder, with { analyze_target = fatal }, GOAL).state.state)
    local again = { { status = "failed", class = "ValidationError", summary = "wrong" } }
    local node = run(folder, with { verify_result = again }, GOAL)
    assert.equal("failed", node.state.state)
    assert.equal(4, #node.state.errors)
  end)

  it("end as failed where the limit of an edge is used up", function()
    local never = { { stateUpdates = { validation = { passed = false } } } }
    local node = run(documents.generate(documents.config "target-worker"), with { verify_result = never }, GOAL)
    assert.equal("failed", node.state.state)
    local count = 0
    for _, id in ipairs(node.order) do
      count = count + (id == "analyze_target" and 1 or 0)
    end
    assert.equal(4, count) -- once on the way, three times back
  end)

  it("go on from the state file, and begin anew with a target", function()
    local folder = documents.generate(documents.config "target-worker")
    run(folder, GOOD, GOAL)
    local state = runs.json(folder .. "/node/state.json")
    state.state, state.status = "executing", "running"
    runs.write(folder .. "/node/state.json", json.encode(state))
    assert.same({ "verify_result", "complete" }, run(folder, GOOD).order)
    assert.equal(6, #run(folder, GOOD, GOAL).order)
  end)

  it("raise for a state that nobody declared", function()
    local folder = documents.generate(documents.config "target-worker")
    run(folder, GOOD, GOAL)
    local state = runs.json(folder .. "/node/state.json")
    state.state = "nowhere"
    runs.write(folder .. "/node/state.json", json.encode(state))
    assert.equal("Error: nowhere", run(folder, GOOD).results[1].error)
  end)

  for _, context in ipairs { "file", "memory" } do
    local title = "go from state to state as skillrt does on the same folder, context in %s (R145, R147, R148, R153, F62, F63)"
    it(title:format(context), function()
      local config = documents.config "target-worker"
      config.context_strategy = context
      local function same(answers, status)
        local folder = documents.generate(config, "zh")
        local node = run(folder, answers, GOAL)
        local real = documents.in_skillrt(folder, { answers = answers })
        assert.same(node.order, real.order)
        assert.same({ status, status }, { real.status, node.state.status })
        return node, real
      end
      local node, real = same(GOOD, "completed")
      assert.equal(states_of(node), states_of(real))
      for _, key in ipairs { "state_transitions", "actions_executed", "error_count" } do -- one set of names (F63)
        assert.equal(node.state.metrics[key], real.state.metrics[key], key)
      end
      assert.equal(1, real.state.metrics.action_duration.create_plan.count)
      assert.equal(1, node.state.metrics.action_duration.create_plan.count)
      node, real = same(with {
        analyze_target = { { status = "failed", class = "ContextError", summary = "no access" }, {} },
        execute_action = { { status = "failed", summary = "no compiler" }, {} },
      }, "completed")
      assert.equal(states_of(node), states_of(real))
      same(with { analyze_target = { { status = "failed", class = "FatalError", summary = "disk gone" } } }, "failed")
      same(with { verify_result = { { status = "failed", class = "ValidationError", summary = "wrong" } } }, "failed")
      same(with { verify_result = { { stateUpdates = { validation = { passed = false } } } } }, "failed")
    end)
  end
end)
