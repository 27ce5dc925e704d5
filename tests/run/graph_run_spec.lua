-- graph_run_spec.lua: `skillrt graph DIR`: a run as a picture: its steps, a workflow's phases and agents, what became
-- of each.
local R = require "tests.support.runs"
local W = require "tests.support.workflows"
local run_of = require "skillrt.document.graph.run"
local graph_of = require "skillrt.document.graph"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"

-- By label: the node; by label: the label of what it hangs on.
local function read(dir)
  local graph = assert(run_of.of(dir))
  local nodes, by_id, parents = {}, {}, {}
  for _, node in ipairs(graph.nodes) do
    nodes[node.label], by_id[node.id] = node, node
  end
  for _, edge in ipairs(graph.edges) do
    parents[by_id[edge.to].label] = by_id[edge.from].label
  end
  return nodes, parents, graph
end

describe("the graph of a run", function()
  after_each(R.clean)

  it("shows a workflow's phases, the agents under each, how they ended and what they used (W21)", function()
    local folder = R.folder()
    local skill = assert(W.load(folder, [[
      phase('Scan')
      await parallel([() => agent('say a', { label: 'first' }), () => agent('fail', { label: 'weak' })])
      await agent('say b', { label: 'second', phase: 'Judge "it"' })
      return 1
    ]]))
    assert(skill:run { work_dir = folder .. "/run" })
    local nodes, parents, graph = read(folder .. "/run")
    assert.same({ "Scan", "workflow", "start", 'Judge "it"' }, { parents['Judge "it"'], parents.Scan, parents.workflow,
      parents.failed }) -- one below the other
    assert.equal(#graph.nodes, #graph.edges + 1)
    assert.matches("^first: answered in [^\n]*\nweak: sh exited with 3 .* in ", nodes.Scan.note)
    assert.matches("^second: answered in [^\n]*$", nodes['Judge "it"'].note)
    assert.matches("^done in ", nodes.workflow.note)
    assert.equal("agents_failed", nodes.failed.note)
    assert.truthy(graph_of.text(graph, "mermaid"):find('[["Judge #quot;it#quot;<br/>second', 1, true))
    local seen = kit.run({ path = folder }, { "graph", "run" })
    assert.equal(graph_of.text(graph, "mermaid"), seen.out)
  end)

  it("shows what is open, what was tried again, and tokens", function()
    local dir = R.folder() .. "/run"
    local definition = { actions = {
      { id = "one", run = function(_, ctx)
        ctx.await { kind = "http", url = "http://127.0.0.1:1/", label = "flaky", retry = { max = 1 } } -- nobody is there
        ctx.used { tokens = 12 }
        return {}
      end },
      { id = "two", run = function(_, ctx) return { v = ctx.ask "Go on?" } end },
    } }
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.equal("waiting_for_person", result.reason, result.message)
    local nodes, parents = read(dir)
    assert.same({ "one", "two" }, { parents.two, parents.paused })
    assert.matches("\nflaky: .*Failed to connect .* in .*, 12 tokens, 2 attempts$", nodes.one.note)
    assert.equal("open", nodes.two.note)
    assert.equal("waiting_for_person", nodes.paused.note)
    result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "yes" }))
    assert.equal("completed", result.status)
    assert.matches("^done in ", read(dir).two.note)
  end)

  it("is one column for a run of sixty steps, not a staircase", function()
    local dir, actions = R.folder() .. "/run", {}
    for i = 1, 60 do
      actions[i] = { id = "step" .. i, run = function() return {} end }
    end
    assert.equal("completed", assert(R.run({ actions = actions }, { work_dir = dir })).status)
    local graph, middles, count = assert(run_of.of(dir)), {}, 0
    local svg = graph_of.text(graph, "svg")
    for x, w in svg:gmatch '<rect x="([%d.-]+)" y="[%d.-]+" width="([%d.]+)"' do
      middles[("%.0f"):format(x + w / 2)], count = true, count + 1
    end
    assert.equal(62, count)
    local first = next(middles)
    assert.truthy(first and next(middles, first) == nil)
    assert.truthy(tonumber(svg:match ' width="(%d+)"') <= 400)
    for line in graph_of.text(graph, "text", 100):gmatch "[^\n]+" do assert.truthy(not line:find "^      " and #line <= 100, line) end
  end)

  it("names twelve agents of a step, and counts the others", function()
    local folder = R.folder()
    local skill = assert(W.load(folder, [[
      await parallel(Array.from({ length: 15 }, (_, i) => () => agent(`say ${i}`, { label: `l${i}` })))
      return 1
    ]]))
    assert(skill:run { work_dir = folder .. "/run" })
    local note = read(folder .. "/run").workflow.note
    assert.equal(14, #note:gsub("[^\n]+", ""):gsub("$", "\n"))
    assert.matches("\nl11: answered[^\n]*\nand 3 more$", note)
  end)
end)
