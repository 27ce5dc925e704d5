-- document/graph/machine.lua: a machine as a graph: its states as nodes, its actions as edges with their conditions
-- and limits, and the path of a run.
--
-- Reads the transition table alone, as the mode does. Called by graph/build.lua.
local machine_of = require "skillrt.skill.machine"
local names_of = require "skillrt.base.names"

local M = {}

---@class skillrt.graph.Path  the path of a run
---@field taken table<string, integer>  how often, by from, to and action with zeros between
---@field at string?           the state it is in

---The key of a transition in `taken`.
---@param from string
---@param to string
---@param action string
---@return string
function M.key(from, to, action)
  return ("%s\0%s\0%s"):format(from, to, action)
end

---A condition, or several of a transition, as a graph shows it.
---@param condition any
---@return string
function M.text_of(condition)
  if type(condition) == "table" and type(condition.text) ~= "string" and condition[1] then
    local parts = {}
    for i, one in ipairs(condition) do
      parts[i] = M.text_of(one)
    end
    return table.concat(parts, "\n and ")
  end
  return type(condition) == "string" and condition or type(condition) == "table" and condition.text or "a function"
end

local function times(count)
  return count == 1 and "once" or count .. " times"
end

-- The label of an edge: the action, its condition, its limit, how often the run took it.
local function label_of(action, edge, guard, count)
  local lines = { action }
  lines[#lines + 1] = guard ~= nil and "when " .. M.text_of(guard) or nil
  lines[#lines + 1] = edge.max_runs and "at most " .. times(edge.max_runs) or nil
  lines[#lines + 1] = count and "taken " .. times(count) or nil
  return table.concat(lines, "\n")
end

local function note_of(state, path)
  local lines = { state.entry }
  lines[#lines + 1] = state.when ~= nil and "if " .. M.text_of(state.when) or nil
  lines[#lines + 1] = path and path.at == state.name and "the run is here" or nil
  return lines[1] and table.concat(lines, "\n") or nil
end

-- The condition under which a route takes an action, if it is a list of conditions.
local function guards_of(machine, state)
  local guards = {}
  for _, one in ipairs(machine.routes and machine.routes[state] or {}) do
    guards[one.action] = guards[one.action] or one.when
  end
  return guards
end

local function add_edges(graph, machine, state, path)
  local guards = guards_of(machine, state.name)
  for _, edge in ipairs(machine_of.leaving(machine, state.name)) do
    local key = M.key(state.name, edge.to, edge.action)
    local count = path and path.taken[key]
    graph.seen[key] = true
    if count or not machine_of.is_handling(machine, edge) then
      local guard = edge.when
      if guard == nil then
        guard = guards[edge.action]
      end
      graph:edge("state " .. state.name, "state " .. edge.to, count and "taken" or "transition",
        label_of(edge.action, edge, guard, count))
    end
  end
end

-- Where errors lead, from whatever state they occur in.
local function add_errors(graph, machine, any)
  for _, edge in ipairs(machine.edges) do
    if machine_of.is_handling(machine, edge) then
      graph:node(any, "any", "any state")
      graph:edge(any, "state " .. edge.to, "order", label_of(edge.action, edge, edge.when))
    end
  end
  for _, row in ipairs(machine.errors) do
    graph:node(any, "any", "any state")
    graph:edge(any, "state " .. row.to, "order", label_of(row.class, row, nil))
  end
end

-- Transitions without an edge: by the class of an error, or by a person's retry.
local function add_others(graph, machine, path)
  for _, key in ipairs(names_of.sorted(path.taken)) do
    local from, to, action = key:match "^(%Z*)%z(%Z*)%z(%Z*)$"
    if not graph.seen[key] and machine.by_name[from] and machine.by_name[to] then
      graph:edge("state " .. from, "state " .. to, "taken", ("%s, an error\ntaken %s"):format(action,
        times(path.taken[key])))
    end
  end
end

---Adds a machine to a graph.
---@param graph table  of graph/build.lua
---@param machine skillrt.Machine
---@param names { start: string, ["end"]: string, any: string }
---@param path skillrt.graph.Path?
function M.add(graph, machine, names, path)
  for _, state in ipairs(machine.states) do
    graph:node("state " .. state.name, state.terminal and "terminal" or "state", state.name, note_of(state, path))
  end
  graph:edge(names.start, "state " .. machine.initial, "order")
  for _, state in ipairs(machine.states) do
    add_edges(graph, machine, state, path)
  end
  if path then
    add_others(graph, machine, path)
  end
  add_errors(graph, machine, names.any)
  for _, state in ipairs(machine.states) do
    if state.terminal then
      graph:edge("state " .. state.name, names["end"], "order", state.terminal ~= state.name and state.terminal or nil)
    end
  end
end

return M
