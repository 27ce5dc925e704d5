-- document/generate/machine.lua: the machine of a config as the one transition table (skill/machine.lua), and what
-- documents show of it: exits, registry, diagram.
--
-- Pure. Called by config_machine, machine_md and initial_state.
local machine_of = require "skillrt.skill.machine"

local M = {}

---The field of the state that says which state the machine is in.
M.KEY = "state"

---The action that deals with errors, where a table has it.
M.HANDLER = "handle_error"

---A config says `transitions` and `limit` where the table says `edges` and `max_runs`.
---@param config table  autonomous_config.machine
---@return table given  as skill/machine.lua takes it
local function given_of(config)
  local given = { initial = config.initial, states = {}, edges = {}, errors = {} }
  for i, one in ipairs(config.states) do
    given.states[i] = { name = one.name, terminal = one.terminal, description = one.description, entry = one.entry }
  end
  for i, row in ipairs(config.transitions) do
    given.edges[i] = { action = row.action, from = row.from, to = row.to, when = row.when, max_runs = row.limit }
  end
  for i, one in ipairs(config.errors) do
    given.errors[i] = { class = one.class, to = one.to, max_runs = one.limit }
  end
  return given
end

---@param config table  autonomous_config.machine
---@return skillrt.Machine? machine
---@return string? message
function M.of(config)
  return machine_of.new(given_of(config))
end

-- A reply that names no class is taken for this one (R147).
local UNNAMED <const> = "ExecutionError"
local OURS <const> = { "permanent", "transient", "rate_limit", "timeout", "invalid_output" }

---The table as a run goes by it: errors of no class are ExecutionErrors, all others end in `failed` (R148).
---@param config table  autonomous_config.machine
---@return table given
function M.to_run(config)
  local given, has_failed = given_of(config), false
  for _, state in ipairs(given.states) do
    has_failed = has_failed or state.name == "failed"
  end
  for _, one in ipairs(config.errors) do
    for _, class in ipairs(one.class == UNNAMED and OURS or {}) do
      given.errors[#given.errors + 1] = { class = class, to = one.to, max_runs = one.limit }
    end
  end
  if has_failed then
    given.errors[#given.errors + 1] = { class = "*", to = "failed" }
  end
  return given
end

local function add_once(list, value)
  for _, one in ipairs(list) do
    if one == value then
      return
    end
  end
  list[#list + 1] = value
end

---The registry; the action that deals with errors comes from any state and leads to where their classes say (R133).
---@param machine skillrt.Machine
---@return { action: string, from: string[], to: string[], any: boolean?, edges: skillrt.Edge[] }[]
function M.registry(machine)
  local list, by_action = machine_of.registry(machine)
  local handler = by_action[M.HANDLER]
  for _, one in ipairs(handler and machine.errors or {}) do
    handler.any = true
    add_once(handler.to, one.to)
  end
  return list
end

-- The states that only errors lead to.
local function error_states(machine)
  local set, list = {}, {}
  for _, one in ipairs(machine.errors) do
    set[one.to] = true
  end
  for _, edge in ipairs(machine.edges) do
    set[edge.to] = nil
  end
  for _, state in ipairs(machine.states) do
    list[#list + 1] = set[state.name] and state.name or nil
  end
  return list
end

---Where a state is left to: by its rows, and by an error.
---@param machine skillrt.Machine
---@param state skillrt.MachineState
---@return string[]
function M.exits(machine, state)
  local list = {}
  for _, edge in ipairs(machine_of.leaving(machine, state.name)) do
    add_once(list, edge.to)
  end
  for _, name in ipairs(state.terminal and {} or error_states(machine)) do
    if name ~= state.name then
      add_once(list, name)
    end
  end
  return list
end

---A state diagram in Mermaid: every row an edge, and the ways into the states that only errors lead to.
---@param machine skillrt.Machine
---@param name_of fun(name: string): string  a name that Mermaid takes
---@return string[] lines
function M.diagram(machine, name_of)
  local lines = { "stateDiagram-v2", "    [*] --> " .. name_of(machine.initial) }
  for _, edge in ipairs(machine.edges) do
    for _, from in ipairs(edge.from) do
      lines[#lines + 1] = ("    %s --> %s: %s"):format(name_of(from), name_of(edge.to), edge.action)
    end
  end
  for _, name in ipairs(error_states(machine)) do
    for _, state in ipairs(machine.states) do
      if state.name ~= name and not state.terminal then
        lines[#lines + 1] = ("    %s --> %s: %s"):format(name_of(state.name), name_of(name), M.HANDLER)
      end
    end
  end
  for _, state in ipairs(machine.states) do
    if state.terminal then
      lines[#lines + 1] = ("    %s --> [*]"):format(name_of(state.name))
    end
  end
  return lines
end

return M
