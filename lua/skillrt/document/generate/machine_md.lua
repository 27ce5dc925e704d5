-- document/generate/machine_md.lua: phases/_orchestrator.md of a skill with a state machine (R117, R127, R142-R153):
-- all of it from the one transition table. Pure. Called by generate.
local graph_of = require "skillrt.document.graph"
local initial_state = require "skillrt.document.generate.initial_state"
local json = require "skillrt.base.json"
local machine_of = require "skillrt.skill.machine"
local of_config = require "skillrt.document.generate.machine"
local markdown = require "skillrt.document.generate.markdown"
local ordered = require "skillrt.document.generate.ordered"
local tables = require "skillrt.base.tables"
local view = require "skillrt.document.generate.view"

local M = {}

-- The standard texts in the language of the document; an author's own stay as they are.
local function translated(shared)
  local texts = shared.lang == "zh" and of_config.standard().zh or {}
  return function(text)
    return texts[text] or text
  end
end

local function state_views(machine, said)
  return view.rows("state", machine.states, function(state)
    local cases = machine_of.leaving(machine, state.name)
    return {
      description = said(state.description or state.name),
      entry = state.entry and said(state.entry) or "-",
      exits = of_config.exits(machine, state),
      cases = cases,
      falls = #cases == 0 or cases[#cases].when ~= nil,
    }
  end)
end

local function registry_views(machine, shared, said)
  local by_id, list = tables.by(shared.actions, "id"), of_config.registry(machine)
  for _, row in ipairs(list) do
    row.any, row.text = row.any or false, said(by_id[row.action].description or by_id[row.action].name)
  end
  return list
end

local function terminal_of(machine)
  local list = json.array {}
  for _, state in ipairs(machine.states) do
    list[#list + 1] = state.terminal and state.name or nil
  end
  return list
end

---@param config skillrt.generate.Config
---@param shared table
---@return table
function M.data(config, shared)
  local given = config.autonomous_config.machine
  local machine = assert(of_config.of(given))
  local said = translated(shared)
  local classes = json.array {}
  for i, one in ipairs(given.errors) do
    classes[i] = { class = one.class, recovery = one.recovery, to = one.to, limit = one.limit }
  end
  local graph = graph_of.of(shared.definition) -- none of a skill that is refused
  for _, node in ipairs(graph and graph.nodes or {}) do
    node.note = nil -- the table of states has it, in the document's language
  end
  local transitions = ordered.encode(of_config.transitions(given), "transition")
  local errors = ordered.encode(classes, "error_class")
  return view.with(shared, {
    fence = markdown.fence(transitions .. errors),
    states = state_views(machine, said),
    registry = registry_views(machine, shared, said),
    conditions = given.conditions,
    error_classes = view.rows("error_class", given.errors),
    graph = graph and graph_of.text(graph, "mermaid"):gsub("\n$", "") or false,
    terminal_json = (ordered.encode(terminal_of(machine)):gsub("\n%s*", " ")),
    transitions_json = transitions,
    errors_json = errors,
    first_state = ordered.encode(initial_state.full(config)),
    history_limit = machine.history,
  })
end

return M
