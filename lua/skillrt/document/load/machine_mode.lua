-- document/load/machine_mode.lua: a definition whose transition table, from a config or from documents, makes it a
-- skill of mode "machine": the table decides what is next, so nothing derived from it stays with the actions.
--
-- Knows no documents. Called by config.lua and folder.lua.
local machine_skill = require "skillrt.skill.machine_skill"

local M = {}

---The key of the state under which documents name the machine's.
M.KEY = "state"

local FROM_TABLE = { "terminal", "repeatable", "priority" }

-- What says where an action leads is the table's.
local function without_way(effects)
  local out = {}
  for _, one in ipairs(effects or {}) do
    local text = type(one) == "table" and one.text or one
    out[#out + 1] = not tostring(text):find "^%s*state%s*=" and one or nil
  end
  return out
end

---@param definition table  what skillrt.skill takes: autonomous until now
---@param machine table     the table, as skill/machine.lua takes it
---@param derived boolean?  what its actions say of when they run was derived of the table
function M.apply(definition, machine, derived)
  for _, action in ipairs(definition.actions) do
    for _, key in ipairs(FROM_TABLE) do
      action[key] = nil
    end
    action.when = not derived and action.when or nil
    action.effects = without_way(action.effects)
  end
  for _, key in ipairs(machine_skill.OWN) do
    if definition.state then
      definition.state[key] = nil
    end
  end
  definition.mode, definition.machine, definition.strategy = "machine", machine, nil
end

---The edges of a table whose route comes from code, in the order in which that asks: what it does not name in a state
---is not taken there, but for what deals with errors.
---@param machine skillrt.Machine
---@return table given  as skill/machine.lua takes it
function M.in_order_of_route(machine)
  local given = { initial = machine.initial, states = {}, edges = {}, errors = machine.errors }
  for i, state in ipairs(machine.states) do
    given.states[i] = { name = state.name, terminal = state.terminal, x = state.x }
  end
  local function add(edge, from, routed)
    given.edges[#given.edges + 1] = { action = edge.action, from = from, to = edge.to, max_runs = edge.max_runs,
      when = routed or edge.when, x = edge.x }
  end
  for _, state in ipairs(machine.routes and machine.states or {}) do
    for _, one in ipairs(machine.routes[state.name] or {}) do
      for _, edge in ipairs(machine.edges) do
        if not edge.any and edge.action == one.action and edge.from[1] == state.name then
          add(edge, state.name, one.when)
        end
      end
    end
  end
  for _, edge in ipairs(machine.edges) do
    if not machine.routes and not edge.any then
      add(edge, edge.from)
    end
  end
  for _, edge in ipairs(machine.edges) do
    if edge.any then
      add(edge, "*")
    end
  end
  return given
end

return M
