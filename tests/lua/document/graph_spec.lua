-- graph_spec.lua: skills as graphs: every node drawn, every label escaped, edges that conditions
-- and effects make.
local graph_of = require "skillrt.document.graph"

local AGENTS = { worker = { kind = "command", argv = { "true" } } }

local function skill(actions, more)
  local definition = { name = "case", agents = AGENTS, actions = actions }
  for _, one in ipairs(actions or {}) do
    one.agent = "worker"
  end
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return definition
end

local function edges(graph)
  local out = {}
  for i, edge in ipairs(graph.edges) do
    out[i] = ("%s > %s%s"):format(edge.from, edge.to, edge.label and ": " .. edge.label or "")
  end
  table.sort(out)
  return out
end

describe("a skill as a graph", function()
  it("leads back where phases go round, and says until when and how often", function()
    local graph = graph_of.of { name = "case", agents = AGENTS, phases = { { id = "a", agent = "worker" },
      { id = "b", agent = "worker", each = "parts" } }, rounds = {
      { first = "a", last = "b", over = "x > 3", max_rounds = 5 }, { first = "b", last = "b", again = "y" } } }
    local told = table.concat(edges(graph), "; ")
    assert.truthy(told:find("phase b > phase a: until x > 3\nat most 5 times", 1, true), told)
    assert.truthy(told:find("phase b > phase b: while y", 1, true), told)
    assert.truthy(graph_of.text(graph, "dot"):find("for each of parts", 1, true))
  end)

  it("leads from an action to those whose conditions its effects make true (R54)", function()
    local graph = graph_of.of(skill({
      { id = "scan", effects = { "files.length>0" } },
      { id = "read", when = { "files.length > 0", "completed_actions.includes('scan')" }, effects = { "stage=read" } },
      { id = "done", when = "stage === 'read'", terminal = true },
    }, { state = { files = require("skillrt.base.json").array {}, stage = "new" } }))
    assert.same({
      "action done > end: completed",
      "action read > action done: stage === 'read'",
      "action scan > action read: files.length > 0\ncompleted_actions.includes('scan')",
      "start > action scan",
    }, edges(graph))
  end)

  it("draws every action, also those that wait for nothing and those nobody waits for (F9)", function()
    local actions = {}
    for i = 1, 300 do
      actions[i] = { id = "a." .. i, when = i % 7 == 0 and "n > 3" or nil }
    end
    local text = graph_of.text(graph_of.of(skill(actions, { state = { n = 0 } })), "mermaid")
    for i = 1, 300 do
      assert.truthy(text:find(('["a.%d'):format(i), 1, true), i)
    end
  end)

  it("escapes labels in Mermaid and in dot (F9)", function()
    local name = 'say "hi" | ] <b> & `x` #1 \\ {}\27[31m'
    local graph = graph_of.of(skill { { id = "odd", name = (name:gsub("\27", "")) } })
    local mermaid, dot = graph_of.text(graph, "mermaid"), graph_of.text(graph, "dot")
    assert.truthy(mermaid:find('["say #quot;hi#quot; | ] #lt;b#gt; #amp; #96;x#96; #35;1 \\ {}', 1, true), mermaid)
    assert.truthy(dot:find('label="say \\"hi\\" | ] <b> & `x` #1 \\\\ {}', 1, true), dot)
  end)

  it("draws phases with what they take and make, around the loop (R10, F6)", function()
    local graph = graph_of.of {
      name = "case",
      agents = AGENTS,
      mode = "hybrid",
      actions = { { id = "work", agent = "worker" } },
      phases = {
        { id = "01-a", agent = "worker", output = "a.json" },
        { id = "02-b", agent = "worker", output = "b.json", input = { "a.json" } },
        { id = "09-z", agent = "worker", output = "z.json", input = { "b.json" }, trailing = true },
      },
    }
    assert.same({
      "action work > loop",
      "loop > phase 09-z",
      "phase 01-a > phase 02-b: a.json",
      "phase 02-b > action work",
      "phase 02-b > phase 09-z: b.json",
      "phase 09-z > end",
      "start > phase 01-a",
    }, edges(graph))
  end)

  it("says who performs it, what repeats, what ends the run and what may begin it (R54)", function()
    local graph = graph_of.of(skill({
      { id = "first", name = "First", optional = true, effects = { "n++" }, max_runs = 3, when = "n < 3" },
      { id = "again", name = "Again", repeatable = true, when = "n > 0 && n < 3", effects = { "n++" } },
      { id = "asked", name = "Asked", when = "approved" },
      { id = "stop", name = "Stop", when = "n >= 3", terminal = true },
    }, { state = { n = 0, approved = false } }))
    assert.same({
      "action again > action again: repeats",
      "action again > action first: n < 3",
      "action again > action stop: n >= 3",
      "action asked > end",
      "action first > action again: n > 0\nn < 3",
      "action first > action first: at most 3 times",
      "action first > action stop: n >= 3",
      "action stop > end: completed",
      "any > action asked: may make it true",
      "start > action first",
    }, edges(graph))
    local text = graph_of.text(graph, "dot")
    for _, part in ipairs { "by worker (command)", "optional", "dashed frame: optional", "grey frame: ends the run" } do
      assert.truthy(text:find(part, 1, true), part)
    end
    assert.truthy(graph_of.text(graph, "mermaid"):find('legend["solid arrow', 1, true))
  end)

  it("draws phases that run at once side by side, and their order where no file tells it (R13, F22)", function()
    local graph = graph_of.of {
      name = "case", agents = AGENTS,
      phases = {
        { id = "a", agent = "worker", output = "a.json" },
        { id = "b", agent = "worker", output = "b.json", input = { "a.json" }, parallel = true },
        { id = "c", agent = "worker", output = "c.json", input = { "a.json" }, parallel = true },
        { id = "d", agent = "worker", output = "d.json", input = { "b.json" } },
      },
    }
    assert.same({ "phase a > phase b: a.json", "phase a > phase c: a.json", "phase b > phase d: b.json",
      "phase c > phase d", "phase d > end", "start > phase a" }, edges(graph))
  end)

  it("becomes SVG where graphviz is installed, or says why not (F9)", function()
    local graph = graph_of.of(skill { { id = "odd", name = 'a "name" <b>' } })
    local svg, message = graph_of.svg(graph)
    if os.execute "command -v dot > /dev/null 2>&1" then
      assert.truthy(svg and svg:find("</svg>", 1, true), message)
      assert.truthy(svg:find("&quot;name&quot; &lt;b&gt;", 1, true))
    else
      assert.is_nil(svg)
      assert.truthy(message)
    end
  end)
end)
