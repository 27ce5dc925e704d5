-- document/graph/build.lua: the nodes and edges of a skill.
--
-- Asks the same terms and effects as the search through the state space, so that an edge is what
-- the check takes it to be. Called by graph.lua.
local guard = require "skillrt.document.check.reach.guard"
local space_of = require "skillrt.document.check.reach.space"

local M = {}

local START, END = "start", "end"

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
    self.into[to], self.out[from] = true, true
  end
  return graph
end

-- By variable: who changes it, and the classes it may have then.
local function producers_of(steps)
  local producers = {}
  for _, step in ipairs(steps) do
    for _, update in ipairs(step.updates) do
      local bits, changes = 0, false
      for class = 1, #update.place.variable.classes do
        local target = update.targets[class]
        bits, changes = bits | target, changes or target ~= 1 << (class - 1)
      end
      local list = producers[update.place.name] or {}
      producers[update.place.name] = list
      list[#list + 1] = changes and { step = step, bits = bits } or nil
    end
  end
  return producers
end

local function condition_edges(graph, space, steps, prefix)
  local producers = producers_of(steps)
  for _, step in ipairs(steps) do
    for _, term in ipairs(step.terms) do
      for _, constraints in ipairs(term.opaque and {} or guard.term(term, space.variables, "may")) do
        for _, one in ipairs(constraints) do
          for _, producer in ipairs(producers[one.name] or {}) do
            if producer.step ~= step and producer.bits & one.bits ~= 0 then
              graph:edge(prefix .. producer.step.action.id, prefix .. step.action.id, "condition", term.text)
            end
          end
        end
      end
    end
  end
end

local function conditions_of(one)
  local parts = {}
  for _, condition in ipairs(one.when) do
    parts[#parts + 1] = type(condition) == "table" and condition.text or "a function"
  end
  return #parts > 0 and "when " .. table.concat(parts, "\n and ") or nil
end

local function add_actions(graph, space, model)
  for _, action in ipairs(model.actions) do
    local note = conditions_of(action)
    graph:node("action " .. action.id, "action", action.name, note)
  end
  condition_edges(graph, space, space.steps, "action ")
  for _, action in ipairs(model.actions) do
    local id = "action " .. action.id
    if not graph.into[id] and action.id ~= "action-abort" then
      graph:edge(graph.before or START, id, "order")
    elseif action.id == "action-abort" then
      graph:edge(graph.before or START, id, "order", "too many errors")
    end
  end
  for _, action in ipairs(model.actions) do
    local id = "action " .. action.id
    if action.terminal or not graph.out[id] then
      graph:edge(id, graph.after or END, "order", action.terminal)
    end
  end
end

local function input_of(phase)
  local input = phase.given.input
  return type(input) == "table" and input or type(input) == "string" and { input } or {}
end

-- Phases in their order; an edge carries the file that goes along it.
local function add_phases(graph, model, trailing, from)
  local maker, last, first = graph.maker, from, nil
  for _, phase in ipairs(model.phases) do
    if (phase.trailing or false) == trailing then
      local id = "phase " .. phase.id
      local output = phase.given.output or phase.id .. ".json"
      local note = conditions_of(phase)
      graph:node(id, "phase", phase.name, (note and note .. "\n" or "") .. "makes " .. output)
      local linked = false
      for _, name in ipairs(input_of(phase)) do
        if maker[name] then
          graph:edge(maker[name], id, "data", name)
          linked = true
        end
      end
      if not linked or not first then
        graph:edge(last, id, "order")
      end
      maker[output], last, first = id, id, first or id
    end
  end
  return last, first
end

local function add_states(graph, subject)
  local prose = subject.prose or {}
  for _, one in ipairs(prose.states or {}) do
    graph:node("state " .. one.name, "state", one.name)
  end
  for _, row in ipairs(prose.transitions or {}) do
    for _, from in ipairs(row.any and {} or row.from) do
      for _, to in ipairs(row.to) do
        if from:find "%w" and to:find "%w" then -- "-" is no state
          graph:node("state " .. from, "state", from)
          graph:node("state " .. to, "state", to)
          graph:edge("state " .. from, "state " .. to, "transition", row.action)
        end
      end
    end
  end
end

---@param model skillrt.check.Model
---@param subject skillrt.check.Subject
---@return skillrt.graph.Graph
function M.of(model, subject)
  local graph, space = new(model.name), space_of.of(model)
  graph.maker = {}
  graph:node(START, "start", "Start")
  local last = add_phases(graph, model, false, START)
  local trailing = false
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
    last = graph.after
  end
  if trailing then
    last = add_phases(graph, model, true, last)
  end
  graph:node(END, "end", "End")
  if last then
    graph:edge(last, END, "order")
  end
  for _, phase in ipairs(model.phases) do
    if not graph.out["phase " .. phase.id] then
      graph:edge("phase " .. phase.id, END, "order")
    end
  end
  add_states(graph, subject)
  return graph
end

return M
