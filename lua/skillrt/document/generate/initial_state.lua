-- document/generate/initial_state.lua: the initial state of a run: the same object for the documents and for the run
-- (F1). Pure. Called by state_schema and load/config.
local helpers = require "skillrt.document.generate.helpers"
local json = require "skillrt.base.json"
local machine_of = require "skillrt.document.generate.machine"

local M = {}

-- Fields that the runtime writes; a config's field with such a name only describes it.
local RUNTIME = require("skillrt.skill.state").RESERVED

---@param name string
---@return boolean
function M.is_runtime_field(name)
  return RUNTIME[name] == true
end

-- A default as a value; null if the type allows it and nothing else would be correct.
local function default_of(kind)
  if kind:find "%f[%w]null%f[%W]" then
    return json.null
  end
  local text = helpers.get_default_value(kind)
  if text == "[]" then
    return json.array {}
  elseif text == "{}" then
    return {}
  end
  return (json.decode(text))
end

---The declared fields with their initial values; x_skillrt.initial_state overrides the type's default.
---@param config skillrt.generate.Config
---@return table<string, any>
function M.business(config)
  local state = { pending_items = json.array {}, results = {} }
  for _, field in ipairs(config.autonomous_config.state_schema.fields) do
    if not RUNTIME[field.name] then
      state[field.name] = default_of(field.type)
    end
  end
  local machine = config.autonomous_config.machine
  if machine then
    state[machine_of.KEY] = machine.initial
  end
  local own = config.x_skillrt.initial_state
  for key, value in pairs(type(own) == "table" and own or {}) do
    if not RUNTIME[key] then
      state[key] = value
    end
  end
  return state
end

---The whole state before the first step, as state.json shows it.
---@param config skillrt.generate.Config
---@return table<string, any>
function M.full(config)
  local state = M.business(config)
  state.skill_name = config.skill_name
  state.status = "pending"
  state.started_at, state.updated_at, state.current_action = json.null, json.null, json.null
  state.completed_actions, state.errors = json.array {}, json.array {}
  state.error_count, state.iteration_count = 0, 0
  state.context = {}
  if config.autonomous_config.machine then -- further fields of its document (R143, F63)
    state.context = { target = "", complexity = 0, files = json.array {}, findings = json.array {} }
    state.history = json.array {}
    state.metrics = { actions_executed = 0, state_transitions = 0, action_duration = {}, error_count = 0, edges = {},
      start_time = json.null, completion_rate = 0 }
  end
  return state
end

return M
