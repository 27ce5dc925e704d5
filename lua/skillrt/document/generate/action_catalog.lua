-- document/generate/action_catalog.lua: specs/action-catalog.md: definitions, graph, priorities (R38, R53-R55).
-- Pure. Called by generate and orchestrator.
local config_machine = require "skillrt.document.generate.config_machine"
local config_of = require "skillrt.document.generate.config"
local graph_of = require "skillrt.document.graph"
local json = require "skillrt.base.json"
local load_config = require "skillrt.document.load.config"
local machine_of = require "skillrt.skill.machine"
local markdown = require "skillrt.document.generate.markdown"
local ordered = require "skillrt.document.generate.ordered"
local view = require "skillrt.document.generate.view"

local M = {}

-- Who performs an action, where that is not the host's own agent (F47).
local function agent_of(action)
  local agent = config_of.agent(action)
  local chain = type(agent.fallback_chain) == "table" and #agent.fallback_chain > 0
  agent.fallback_chain = chain and agent.fallback_chain or nil
  return agent.type ~= "universal-executor" and agent or nil
end

---The actions as data, with all that decides when and how often each is chosen (R41).
---@param shared table
---@param with_description boolean?
---@return table[]
function M.entries(shared, with_description)
  local list = json.array {}
  for i, action in ipairs(shared.actions) do
    local source = action.source
    list[i] = {
      id = source.id,
      name = source.name,
      description = with_description and source.description or nil,
      preconditions = source.preconditions,
      effects = source.effects,
      priority = action.priority,
      repeatable = action.repeatable or nil,
      max_runs = action.max_runs or nil,
      max_retries = action.max_retries,
      terminal = action.terminal,
      idempotent = action.idempotent,
      agent = agent_of(source),
    }
  end
  return list
end

-- What conditions and effects are followed for: not more actions, not longer texts.
local MOST_ACTIONS, LONGEST = 300, 2000

local function is_drawn(actions)
  for _, action in ipairs(#actions <= MOST_ACTIONS and actions or {}) do
    for _, list in ipairs { action.preconditions, action.effects } do
      for _, text in ipairs(list) do
        if #text > LONGEST then
          return false
        end
      end
    end
  end
  return #actions <= MOST_ACTIONS
end

-- Of a state machine: an action leads to those that leave the states it leads to.
local function machine_edges(given)
  local machine, edges, seen = assert(machine_of.new(config_machine.to_run(given))), {}, {}
  local function add(from, to)
    local key = (from or "") .. "\0" .. (to or "")
    edges[#edges + 1] = not seen[key] and { from = from, to = to } or nil
    seen[key] = true
  end
  for _, edge in ipairs(machine_of.leaving(machine, machine.initial)) do
    add(nil, edge.action)
  end
  for _, edge in ipairs(machine.edges) do
    for _, other in ipairs(machine_of.leaving(machine, edge.to)) do
      add(edge.action, other.action)
    end
  end
  for _, edge in ipairs(machine.edges) do
    if machine.by_name[edge.to].terminal then
      add(edge.action, nil)
    end
  end
  return edges
end

-- The edges that `skillrt graph` draws between actions: an effect of one makes a condition of another true.
local function edges_of(config)
  if config.autonomous_config.machine then
    return machine_edges(config.autonomous_config.machine)
  end
  local definition = is_drawn(config.autonomous_config.actions)
    and load_config.definition(config, { agents_required = false })
  local drawn = definition and graph_of.of(definition)
  local first, middle, last = {}, {}, {}
  for _, edge in ipairs(drawn and drawn.edges or {}) do
    local from, to = edge.from:match "^action (.*)$", edge.to:match "^action (.*)$"
    local list = from and to and middle or from and last or first
    list[#list + 1] = (from or to) and { from = from, to = to } or nil
  end
  table.move(middle, 1, #middle, #first + 1, first)
  return table.move(last, 1, #last, #first + 1, first)
end

-- The lines of a `graph TD`: every action a node, then the edges (R54, F9).
local function mermaid(actions, edges)
  local ids, lines = {}, { "graph TD", "    START((Start))" }
  for i, action in ipairs(actions) do
    ids[i] = action.id
  end
  local names = markdown.node_names(ids)
  for _, action in ipairs(actions) do
    lines[#lines + 1] = ("    %s[%s]"):format(names[action.id], markdown.label(action.name))
  end
  for _, edge in ipairs(edges) do
    lines[#lines + 1] = ("    %s --> %s"):format(names[edge.from] or "START", names[edge.to] or "END((End))")
  end
  return lines
end

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  local definitions = ordered.encode(M.entries(shared, true), "entry")
  return view.with(shared, {
    definitions = definitions,
    fence = markdown.fence(definitions),
    graph = table.concat(mermaid(config.autonomous_config.actions, edges_of(config)), "\n"),
  })
end

return M
