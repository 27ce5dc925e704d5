-- graph_spec.lua: skills as graphs: every node drawn, every label escaped, edges that conditions
-- and effects make.
local graph_of = require "skillrt.document.graph"
local layout = require "skillrt.document.graph.layout"

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
    assert.truthy(graph_of.text(graph, "text"):find("for each of parts", 1, true))
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

  it("says once what an action makes true in two ways", function()
    local graph = graph_of.of(skill({ { id = "add", effects = { "a++", "b++" } }, { id = "use", when = "a + b > 3" } },
      { state = { a = 0, b = 0 } }))
    assert.same({ "action add > action use: a + b > 3", "action use > end", "start > action add" }, edges(graph))
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

  it("escapes labels in Mermaid (F9)", function()
    local name = 'say "hi" | ] <b> & `x` #1 \\ {}\27[31m'
    local graph = graph_of.of(skill { { id = "odd", name = (name:gsub("\27", "")) } })
    local mermaid = graph_of.text(graph, "mermaid")
    assert.truthy(mermaid:find('["say #quot;hi#quot; | ] #lt;b#gt; #amp; #96;x#96; #35;1 \\ {}', 1, true), mermaid)
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
    local text = graph_of.text(graph, "svg")
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

  it("becomes SVG, with every text escaped (F9)", function()
    local svg = graph_of.text(graph_of.of(skill { { id = "odd", name = 'a "name" <b> & \1' } }), "svg")
    assert.truthy(svg:find('<text class="name"[^>]*>a &quot;name&quot; &lt;b&gt; &amp; \\x01</text>'), svg)
    assert.equal(select(2, svg:gsub("<g", "")), select(2, svg:gsub("</g>", "")))
    assert.truthy(svg:find("</svg>\n$"))
  end)

  -- Forty actions or phases: one after the other with rounds, all free, each after all before it, all that make one
  -- condition true and wait for it.
  local function forty(of)
    local list = {}
    for i = 1, 40 do list[i] = of(i) end
    return list
  end
  local function after_all(i)
    local when = {}
    for k = 1, i - 1 do when[k] = ("completed_actions.includes('a%d')"):format(k) end
    return { id = "a" .. i, when = #when > 0 and when or nil }
  end
  local LARGE = {
    ["phases in a row"] = { name = "case", agents = AGENTS, phases = forty(function(i)
      return { id = ("p%02d"):format(i), agent = "worker", output = ("%02d.json"):format(i),
        input = i > 1 and { ("%02d.json"):format(i - 1) } or nil }
    end), rounds = { { first = "p03", last = "p08", over = "x > 3", max_rounds = 5 }, { first = "p01", last = "p40", over = "y" } } },
    ["free actions"] = skill(forty(function(i) return { id = "a" .. i } end)),
    ["each after all before it"] = skill(forty(after_all)),
    ["one condition"] = skill(forty(function(i) return { id = "a" .. i, when = "n > 3", effects = { "n++" } } end), { state = { n = 0 } }),
  }

  -- By row: the middles of its boxes; and how wide the picture is.
  local function seen(svg)
    local rows, width = {}, tonumber(svg:match ' width="(%d+)" style')
    for x, y, w in svg:gmatch '<rect x="([%d.-]+)" y="([%d.-]+)" width="([%d.]+)"' do
      rows[tonumber(y)] = rows[tonumber(y)] or {}
      table.insert(rows[tonumber(y)], x + w / 2)
    end
    return rows, width
  end

  it("fits a screen with forty steps, whatever leads from one to the other, and is no staircase", function()
    for name, definition in pairs(LARGE) do
      local graph = assert(graph_of.of(definition))
      local rows, width = seen(graph_of.text(graph, "svg"))
      assert.truthy(width <= 900, ("%s: %d"):format(name, width))
      local left, right = math.huge, -math.huge
      for _, row in pairs(rows) do
        local middle = (math.min(table.unpack(row)) + math.max(table.unpack(row))) / 2
        left, right = math.min(left, middle), math.max(right, middle)
      end
      assert.truthy(right - left <= 300, ("%s: rows drift by %.0f"):format(name, right - left))
      if name ~= "each after all before it" then
        assert.truthy(#graph.edges <= 90, name .. " " .. #graph.edges)
      end
      for line in graph_of.text(graph, "text", 100):gmatch "[^\n]+" do assert.truthy(utf8.len(line) <= 100, line) end
    end
  end)

  it("fits a screen, of every example", function()
    local count = 0
    for path in io.popen "ls -d examples/*/ examples/*/*.lua":lines() do
      local graph = graph_of.of(path)
      if graph then
        local _, width = seen(graph_of.text(graph, "svg"))
        assert.truthy(width <= 900, path .. ": " .. width)
        count = count + 1
      end
    end
    assert.truthy(count >= 6, count)
  end)

  it("becomes lines that no screen has to fold, whatever its texts are", function()
    local graph = { name = "g", legend = {}, nodes = { { id = "a", kind = "action", label = ("word "):rep(30) },
      { id = "b", kind = "end", label = ("\u{4E2D}"):rep(50), note = "one\n" .. ("x"):rep(99) } },
      edges = { { from = "a", to = "b", kind = "order", label = "when x\n and y" } } }
    local width = require("skillrt.base.terminal_text").width
    for _, columns in ipairs { 20, 41, 80 } do
      for line in graph_of.text(graph, "text", columns):gmatch "[^\n]+" do assert.truthy(width(line) <= columns, line) end
    end
    local text = graph_of.text(graph, "text", 200)
    assert.truthy(text:find("\n  -> " .. ("\u{4E2D}"):rep(50) .. " (when x, and y)\n", 1, true), text)
    assert.truthy(text:find("\n    one\n    xxx", 1, true), text)
  end)
end)

describe("a picture", function()
  -- Boxes and lines by chance: a tree with more lines across and back.
  local function drawn(seed)
    local state = seed
    local function pick(most)
      state = (state * 1103515245 + 12345) % 2147483648
      return state // 65536 % most + 1
    end
    local boxes, lines = {}, {}
    for i = 1, pick(30) + 2 do boxes[i] = { w = 30 + pick(200), h = 20 + pick(90) } end
    local function line(from, to)
      local label = pick(3) == 1
      local w, h = label and 20 + 50 * pick(3) or 6, label and 16 * pick(3) or 0
      lines[#lines + 1] = { from = boxes[from], to = boxes[to], w = w, h = h, same = w .. " " .. h }
    end
    for i = 2, #boxes do line(pick(i - 1), i) end
    for _ = 1, pick(10) do
      local from, to = pick(#boxes), pick(#boxes)
      if from ~= to then line(from, to) end
    end
    return boxes, lines, layout.place(boxes, lines)
  end

  local function touch(a, b)
    return math.abs(a.x - b.x) < (a.w + b.w) / 2 and a.y < b.y + b.h and b.y < a.y + a.h
  end

  it("has no box and no label on another one, and no line that goes through a box", function()
    for seed = 1, 25 do
      local boxes, lines, width, height = drawn(seed)
      local all, there = { table.unpack(boxes) }, {} -- lines may share places
      for _, line in ipairs(lines) do
        local places = line.places
        assert.equal(line.turned and line.to or line.from, places[1])
        assert.equal(line.turned and line.from or line.to, places[#places])
        local labels = 0
        for i = 2, #places do
          assert.truthy(places[i].y >= places[i - 1].y + places[i - 1].h, "line upwards, seed " .. seed)
          all[#all + 1] = i < #places and not there[places[i]] and places[i] or nil
          there[places[i]] = true
          labels = labels + (places[i].is_label and 1 or 0)
          assert.truthy(not places[i].is_label or places[i].w >= line.w and places[i].h >= line.h)
        end
        assert.equal(1, labels)
      end
      for i, one in ipairs(all) do
        assert.truthy(one.x - one.w / 2 > -0.01 and one.x + one.w / 2 < width + 0.01 and one.y + one.h <= height + 0.01)
        for k = i + 1, #all do assert.is_false(touch(one, all[k]), "seed " .. seed) end
      end
    end
  end)

  it("is no wider than a page, however many boxes are side by side", function()
    local boxes, lines = { { w = 50, h = 20 } }, {}
    for i = 2, 41 do
      boxes[i] = { w = 120, h = 30 }
      lines[i - 1] = { from = boxes[1], to = boxes[i], w = 0, h = 0, same = "" }
    end
    layout.place(boxes, lines)
    local by_row = {}
    for _, box in ipairs(boxes) do by_row[box.y] = (by_row[box.y] or 0) + box.w + 22 end
    for _, width in pairs(by_row) do assert.truthy(width <= 782, width) end
  end)
end)
