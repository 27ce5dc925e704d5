-- machine_graph_spec.lua: a machine as a picture, and what a check finds in one that a script declares.
local runs = require "tests.support.runs"
local machine_of = require "tests.support.target_machine"

local function edge(graph, from, to)
  for _, one in ipairs(graph.edges) do
    if one.from == "state " .. from and one.to == "state " .. to or one.from == from and one.to == "state " .. to then
      return one
    end
  end
end

local function drawn(definition, dir)
  return assert(require("skillrt.document.graph").of(runs.skill(definition), dir))
end

describe("the graph of a machine", function()
  after_each(runs.clean)

  it("has its states as nodes and its actions as edges, with guards and limits (R126, F59)", function()
    local graph = drawn(machine_of.of())
    local kinds = {}
    for _, node in ipairs(graph.nodes) do
      kinds[node.label] = node.kind
    end
    assert.same({ "state", "terminal", "terminal", "any" }, { kinds.analyzing, kinds.completed, kinds.failed,
      kinds["any state"] })
    local rows = 0
    for _, row in ipairs(machine_of.of().machine.edges) do
      for _, from in ipairs(type(row.from) == "table" and row.from or { row.from }) do
        local one = assert(edge(graph, from == "*" and "any" or from, row.to), row.action .. " from " .. from)
        assert.has_match(row.action, one.label, 1, true)
        rows = rows + 1
      end
    end
    assert.equal(12, rows)
    assert.equal("create_plan\nwhen context.complexity > complexity_threshold",
      edge(graph, "analyzing", "planning").label)
    assert.equal("analyze_target\nat most 3 times", edge(graph, "verifying", "analyzing").label)
    assert.equal("order", edge(graph, "start", "initialized").kind)
    assert.equal("order", edge(graph, "any", "error").kind)
  end)

  it("marks the way that a run took, by errors too, and where it is", function()
    local dir, tries = runs.folder() .. "/run", 0
    local definition = machine_of.of({ execute_action = function()
      tries = tries + 1
      return tries > 1 and {} or nil, tries == 1 and "no luck" or nil
    end }, function(given) given.machine.errors = { { class = "permanent", to = "collecting_context", max_runs = 1 } } end)
    assert(runs.run(definition, { work_dir = dir }))
    local graph = drawn(definition, dir)
    assert.equal("taken", edge(graph, "analyzing", "planning").kind)
    assert.matches("taken 2 times$", edge(graph, "analyzing", "planning").label)
    assert.equal("transition", edge(graph, "verifying", "analyzing").kind)
    assert.equal("execute_action, an error\ntaken once", edge(graph, "planning", "collecting_context").label)
    for _, node in ipairs(graph.nodes) do
      assert.equal(node.label == "completed", (node.note or ""):find "the run is here" ~= nil)
    end
    local text = require("skillrt.document.graph").text(graph, "svg")
    assert.matches('<path class="taken"', text)
  end)

  it("is refused for the way of a run that has no states", function()
    local dir = runs.folder() .. "/run"
    local other = { name = "other", actions = { { id = "a", run = function() end } } }
    assert(runs.run(other, { work_dir = dir }))
    local graph, message = require("skillrt.document.graph").of(runs.skill(machine_of.of()), dir)
    assert.is_nil(graph)
    assert.matches("is not a run of machine mode", message)
    graph, message = require("skillrt.document.graph").of(runs.skill(other), dir)
    assert.is_nil(graph)
    assert.matches("has no state machine", message)
  end)
end)

describe("a check of a machine in Lua", function()
  -- The codes of what is found, each once, sorted.
  local function codes(definition)
    local found, seen, out = assert(require("skillrt.document.check").check(runs.skill(definition))), {}, {}
    for _, one in ipairs(found.findings) do
      if one.level ~= "note" and not seen[one.code] then
        seen[one.code], out[#out + 1] = true, one.code
      end
    end
    table.sort(out)
    return table.concat(out, " ")
  end

  it("finds nothing in a table that is whole, and follows an action that leads to several states", function()
    assert.equal("", codes(machine_of.of()))
    assert.equal("", codes(machine_of.of(nil, function(given)
      given.machine.states[8] = { name = "completed", when = "validation.passed" }
      given.machine.edges[6] = { action = "verify_result", from = "executing", to = "completed" }
      given.machine.edges[7] = { action = "verify_result", from = "executing", to = "verifying" }
      given.actions[6] = nil
      given.actions[6] = given.actions[8]
      given.actions[8] = nil
    end)))
  end)

  it("finds what goes round without a limit, what is never reached, and that nothing says it failed (R153, F60)",
    function()
      assert.equal("machine.loop", codes(machine_of.of(nil, function(given)
        given.machine.edges[8].max_runs = nil
      end)))
      assert.matches("machine.unreachable", codes(machine_of.of(nil, function(given)
        given.machine.states[11] = "waiting"
      end)))
      assert.matches("machine.no%-failure", codes({
        name = "one", machine = { initial = "a", states = { "a", "completed" },
          edges = { { action = "go", from = "a", to = "completed" } } },
        actions = { { id = "go" } },
      }))
    end)
end)
