-- document/graph/build.lua: the nodes and edges of a skill.
--
-- Uses the same terms and effects as the search through the state space, so that an edge means the same as in the
-- check. Called by document/graph/init.lua.
local json = require "skillrt.base.json"
local listed = require("skillrt.base.names").listed
local machine_graph = require "skillrt.document.graph.machine"
local phase_of = require "skillrt.skill.phase"
local space_of = require "skillrt.document.check.reach.space"
local truth = require "skillrt.document.check.reach.truth"

local M = {}

local START, END, ANY = "start", "end", "any"
local SEVERAL <const> = 3

local function new(name)
  local graph = { name = name or "skill", nodes = {}, edges = {}, seen = {}, into = {}, out = {} }
  function graph:node(id, kind, label, note)
    if not self.seen[id] then
      self.seen[id] = true
      self.nodes[#self.nodes + 1] = { id = id, kind = kind, label = label, note = note }
    end
  end
  function graph:edge(from, to, kind, label)
    local key = ("%s\0%s"):format(from, to)
    local known = self.seen[key]
    if known then
      if label and known.label and not known.label:find(label, 1, true) then
        known.label = known.label .. "\n" .. label
      end
      return
    end
    local edge = { from = from, to = to, kind = kind, label = label }
    self.seen[key] = edge
    self.edges[#self.edges + 1] = edge
    if from ~= to then
      self.into[to], self.out[from] = true, true
    end
  end
  return graph
end

-- By variable: which actions change it, and its possible classes afterwards.
local function producers_of(steps)
  local producers = {}
  for _, step in ipairs(steps) do
    for _, change in ipairs(step.changes) do
      local set, classes, changes = {}, {}, false
      for class, targets in pairs(change.targets) do
        for _, target in ipairs(targets) do
          classes[#classes + 1] = not set[target] and target or nil
          set[target], changes = true, changes or target ~= class
        end
      end
      local list = producers[change.variable.name] or {}
      producers[change.variable.name] = list
      list[#list + 1] = changes and { step = step, classes = classes } or nil
    end
  end
  return producers
end

-- Calls `each` with the id of every action that can make a term of another one true.
local function each_helper(space, steps, each)
  local producers = producers_of(steps)
  for _, step in ipairs(steps) do
    for _, term in ipairs(step.terms) do
      for _, name in ipairs(term.vars) do
        for _, producer in ipairs(producers[name] or {}) do
          if producer.step ~= step and truth.helps(term, space.variables, name, producer.classes) then
            each(producer.step.action.id, step.action.id, term.text)
          end
        end
      end
    end
  end
end

-- An edge from each action to those whose conditions it can make true. If several actions make a condition true and
-- several wait for it, the condition is a node of its own: forty of each are then eighty edges instead of 1,600.
local function condition_edges(graph, space, steps, prefix)
  local from, to = {}, {} -- the actions of each condition: a set, and how many
  local function count(sides, text, id)
    local side = sides[text] or { seen = {}, count = 0 }
    sides[text] = side
    side.count, side.seen[id] = side.count + (side.seen[id] and 0 or 1), true
  end
  each_helper(space, steps, function(maker, waiter, text)
    count(from, text, maker)
    count(to, text, waiter)
  end)
  each_helper(space, steps, function(maker, waiter, text)
    if from[text].count < SEVERAL or to[text].count < SEVERAL then
      graph:edge(prefix .. maker, prefix .. waiter, "condition", text)
      return
    end
    local id = "condition " .. text
    graph:node(id, "any", text)
    graph:edge(prefix .. maker, id, "condition")
    graph:edge(id, prefix .. waiter, "condition")
  end)
end

local function conditions_of(one)
  local parts = {}
  for _, condition in ipairs(one.when) do
    parts[#parts + 1] = machine_graph.text_of(condition)
  end
  return #parts > 0 and "when " .. table.concat(parts, "\n and ") or nil
end

-- The agent's name, with its kind if it has its own name.
local function performer_of(one, model)
  local agent = one.agent
  if not agent then
    return one.run and "by a function" or nil
  end
  local kind = model.agents[agent].kind
  if agent == one.id .. ".agent" then -- it has no name of its own
    return "by " .. kind
  end
  return kind ~= agent and kind ~= "lua" and ("by %s (%s)"):format(agent, kind) or "by " .. agent
end

local function note_of(one, model, ...)
  local lines = { conditions_of(one) }
  lines[#lines + 1] = performer_of(one, model)
  lines[#lines + 1] = one.tool_set and "tools: " .. one.tool_set or nil
  for _, line in ipairs { ... } do
    lines[#lines + 1] = line ~= "" and line or nil
  end
  return #lines > 0 and table.concat(lines, "\n") or nil
end

-- Whether an action may be the first: its conditions are true in the initial state.
local function may_begin(action, first_state)
  for _, condition in ipairs(action.when) do
    if type(condition) ~= "table" then
      return true -- functions are not called
    elseif not condition(first_state) then
      return false
    end
  end
  return true
end

local function first_state_of(model)
  local state = { status = "pending", completed_actions = json.array {}, errors = json.array {}, error_count = 0,
    context = {}, input = {}, outputs = {} }
  for key, value in pairs(model.state) do
    state[key] = value
  end
  return state
end

local function repeats(action)
  if action.max_runs == math.huge then
    return "repeats"
  end
  local most = math.tointeger(action.max_runs) or ("%g"):format(action.max_runs) -- a config may say 1e308
  return action.max_runs > 1 and ("at most %s times"):format(most) or nil
end

local function add_actions(graph, space, model)
  local first_state = first_state_of(model)
  for _, action in ipairs(model.actions) do
    graph:node("action " .. action.id, action.terminal and "terminal" or action.optional and "optional" or "action",
      action.name, note_of(action, model, action.optional and "optional" or ""))
  end
  condition_edges(graph, space, space.steps, "action ")
  for _, action in ipairs(model.actions) do
    local id, again = "action " .. action.id, repeats(action)
    local abort = action.id == "action-abort"
    local begins = abort or may_begin(action, first_state) or not graph.into[id] and model.chooses ~= "priority"
    for _, before in ipairs(begins and graph.before or {}) do
      graph:edge(before, id, "order", abort and "too many errors" or nil)
    end
    if not graph.into[id] then -- a key that no effect names may be set by any action
      graph:node(ANY, "any", "any action")
      graph:edge(ANY, id, "order", "may make it true")
    end
    if again and not action.terminal then
      graph:edge(id, id, "order", again)
    end
  end
  for _, action in ipairs(model.actions) do
    local id = "action " .. action.id
    if action.terminal or not graph.out[id] then
      graph:edge(id, graph.after or END, "order", action.terminal)
    end
  end
end

-- The phases on one side of the loop: each alone, or parallel neighbours together.
local function groups_of(model, trailing)
  local phases = {}
  for _, phase in ipairs(model.phases) do
    phases[#phases + 1] = (phase.trailing or false) == trailing and phase or nil
  end
  return phase_of.groups(phases)
end

local function add_phase(graph, model, phase, before, at_once)
  local id = "phase " .. phase.id
  graph:node(id, "phase", phase.name, note_of(phase, model, at_once and "at once with its neighbours" or "",
    phase.each and type(phase.each.items) == "string" and "for each of " .. phase.each.items or "",
    "makes " .. phase.output))
  for _, name in ipairs(phase.input) do
    local maker = graph.maker[name]
    if maker and (phase.input_declared or not maker.output_free) then
      graph:edge("phase " .. maker.id, id, "data", name)
    end
  end
  for _, last in ipairs(before) do
    graph:edge(last, id, "order") -- if no edge already carries a file
  end
  return id
end

-- Phases in order; an edge names the file that is passed on. Returns the last ones.
local function add_phases(graph, model, trailing, from)
  local before = from
  for _, group in ipairs(groups_of(model, trailing)) do
    local ids = {}
    for i, phase in ipairs(group) do
      ids[i] = add_phase(graph, model, phase, before, #group > 1)
    end
    for _, phase in ipairs(group) do
      graph.maker[phase.output] = phase
    end
    before = ids
  end
  return before
end

-- Repeating phases: an edge back, with the condition.
local function add_rounds(graph, model)
  for _, one in ipairs(model.rounds or {}) do
    local lines = {}
    for _, row in ipairs { { "over", "until " }, { "again", "while " } } do
      for _, condition in ipairs(one[row[1]] or {}) do
        lines[#lines + 1] = row[2] .. machine_graph.text_of(condition)
      end
    end
    lines[#lines + 1] = one.max_rounds and ("at most %d times"):format(one.max_rounds) or nil
    graph:edge("phase " .. one.last, "phase " .. one.first, "rounds", table.concat(lines, "\n"))
  end
end

local MEANINGS = {
  { "edges", "condition", "solid arrow: an effect makes the condition true" },
  { "edges", "data", "bold arrow: a file that is passed on" },
  { "edges", "order", "dashed arrow: comes next" },
  { "edges", "rounds", "red arrow: repeats" },
  { "edges", "transition", "purple arrow: a transition of the state machine" },
  { "edges", "taken", "bold purple arrow: a transition that the run took" },
  { "nodes", "terminal", "grey frame: ends the run" },
  { "nodes", "optional", "dashed frame: optional" },
}

-- What the legend must explain: nothing if there is only one kind of arrow.
local function legend_of(graph)
  local there, out = {}, {}
  for _, list in ipairs { "edges", "nodes" } do
    for _, one in ipairs(graph[list]) do
      there[list .. one.kind] = true
    end
  end
  for _, row in ipairs(MEANINGS) do
    out[#out + 1] = there[row[1] .. row[2]] and row[3] or nil
  end
  return #out > 1 and out or {}
end

---@param model skillrt.check.Model
---@param path skillrt.graph.Path?  the path of a machine's run
---@return skillrt.graph.Graph
function M.of(model, path)
  local graph = new(model.name)
  graph:node(START, "start", "Start")
  if model.machine then
    machine_graph.add(graph, model.machine, { start = START, ["end"] = END, any = ANY }, path)
    graph:node(END, "end", "End")
    graph.legend = legend_of(graph)
    return graph
  end
  local space = space_of.of(model)
  graph.maker = {}
  local last, trailing = add_phases(graph, model, false, { START }), false
  for _, phase in ipairs(model.phases) do
    trailing = trailing or phase.trailing or false
  end
  if #model.actions > 0 then
    graph.before = last
    if trailing then
      graph:node("loop", "end", "the loop ends")
      graph.after = "loop"
    end
    add_actions(graph, space, model)
    last = { graph.after }
  end
  if trailing then
    last = add_phases(graph, model, true, last)
  end
  graph:node(END, "end", "End")
  for _, id in ipairs(last) do
    graph:edge(id, END, "order")
  end
  add_rounds(graph, model)
  graph.legend = legend_of(graph)
  return graph
end

---A workflow script: its phases in the order in which they start, each with its agents.
---@param flow table  of document/check/workflow.lua
---@return skillrt.graph.Graph
function M.of_script(flow)
  local graph, by_title, titles, before = new(flow.name), {}, {}, START
  graph:node(START, "start", "Start")
  for _, agent in ipairs(flow.agents) do
    local title = agent.phase or flow.name
    if not by_title[title] then
      by_title[title], titles[#titles + 1] = {}, title
    end
    table.insert(by_title[title], agent.label)
  end
  for i, title in ipairs(titles) do
    local id = "phase " .. i
    graph:node(id, "phase", title, ("agents: %s"):format(listed(by_title[title], 10)))
    graph:edge(before, id, "order")
    before = id
  end
  graph:node(END, "end", "End")
  graph:edge(before, END, "order")
  graph.legend = legend_of(graph)
  return graph
end

return M
