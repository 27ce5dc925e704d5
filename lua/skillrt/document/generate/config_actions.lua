-- document/generate/config_actions.lua: the actions of a config: ids, conditions, state fields, termination.
--
-- Called by generate.config only.
local fields = require "skillrt.document.generate.fields"
local graph = require "skillrt.document.generate.graph"
local json = require "skillrt.base.json"
local ends = require "skillrt.skill.ends"
local machine_of = require "skillrt.document.generate.config_machine"

local M = {}

local DEFAULT_TERMINATION = { "user_exit", "error_limit", "task_completed" }

local function check_filled(action, key, where, found)
  for k, item in ipairs(action[key]) do
    if not item:find "%S" then
      found:error("missing", ("%s%s[%d]"):format(where, key, k), "is empty: write a condition or remove it")
    end
  end
end

local function check_action(action, i, ids, found)
  local where = ("autonomous_config.actions[%d]."):format(i)
  if not fields.id(action, "id", where, found) then
    return
  elseif ids[action.id] then
    local message = "%s is action %d too: rename one"
    found:error("duplicate-id", where .. "id", message, fields.show(action.id), ids[action.id])
    return
  end
  ids[action.id] = i
  action.name = action.name == nil and action.id or action.name
  fields.text(action, "name", where, found, { required = true })
  fields.text(action, "description", where, found, {})
  fields.text(action, "purpose", where, found, {})
  fields.texts(action, "preconditions", where, found)
  fields.texts(action, "effects", where, found)
  check_filled(action, "preconditions", where, found)
  check_filled(action, "effects", where, found)
  action.priority = action.priority == nil and 0 or action.priority
  if type(action.priority) ~= "number" or action.priority ~= action.priority then
    found:error("type", where .. "priority", "must be a number, not %s", fields.show(action.priority))
    action.priority = 0
  end
end

local function check_needs(actions, ids, found)
  local needs = graph.needs_of(actions)
  for i, action in ipairs(actions) do
    for _, id in ipairs(needs[action.id]) do
      if not ids[id] then
        local key = ("autonomous_config.actions[%d].preconditions"):format(i)
        found:warn("unknown-action", key, "waits for %s, which is no action here", fields.show(id))
      end
    end
  end
  local cycle = graph.cycle(actions, needs)
  if cycle then
    local message = "wait for each other, so none of them can run: %s"
    found:warn("cycle", "autonomous_config.actions", message, table.concat(cycle, ", "))
  end
end

local function check_field(field, i, seen, found)
  local where = ("autonomous_config.state_schema.fields[%d]."):format(i)
  fields.text(field, "name", where, found, { required = true })
  local name = field.name
  if type(name) ~= "string" then
    return
  elseif not name:find "^[A-Za-z_\128-\255][%w_\128-\255]*$" then
    found:error("field", where .. "name", "must be a name such as files_done, not %s", fields.show(name))
  elseif seen[name] then
    found:error("duplicate-field", where .. "name", "%s is field %d too: remove one", fields.show(name), seen[name])
  end
  seen[name] = i
  field.type = field.type == nil and "object" or field.type
  field.description = field.description == nil and "" or field.description
  fields.text(field, "type", where, found, { required = true })
  fields.text(field, "description", where, found, {})
end

local function check_schema(autonomous, found)
  local schema = fields.object(autonomous, "state_schema", "autonomous_config.", found)
  local list, seen = fields.list(schema, "fields", "autonomous_config.state_schema.", found), {}
  for i, field in ipairs(list) do
    if type(field) == "table" and not json.is_array(field) then
      check_field(field, i, seen, found)
    else
      local key = ("autonomous_config.state_schema.fields[%d]"):format(i)
      found:error("type", key, "must be an object with name and type, not %s", fields.show(field))
      list[i] = { name = "", type = "object", description = "" }
    end
  end
  return seen
end

local function check_termination(autonomous, seen, found)
  if autonomous.termination_conditions == nil then
    autonomous.termination_conditions = fields.copy(DEFAULT_TERMINATION)
  end
  local list = fields.texts(autonomous, "termination_conditions", "autonomous_config.", found)
  for i, condition in ipairs(list) do
    local bare = condition:find "^[%a_][%w_]*$"
    if bare and not ends.is_builtin[condition] and not seen[condition] then
      local key = ("autonomous_config.termination_conditions[%d]"):format(i)
      local message = "%s is neither a known reason nor a field of the state"
      found:warn("unknown-termination", key, message, fields.show(condition))
    end
  end
end

---Applies the defaults of `autonomous_config` and checks it.
---@param config table
---@param found skillrt.generate.Findings
function M.normalise(config, found)
  if config.autonomous_config == nil then
    found:error("missing", "autonomous_config", "is missing: a skill that runs %s needs it", config.execution_mode)
  end
  local autonomous = fields.object(config, "autonomous_config", "", found)
  machine_of.normalise(config, found)
  local actions, ids = fields.list(autonomous, "actions", "autonomous_config.", found), {}
  if #actions == 0 and config.autonomous_config then
    found:error("empty", "autonomous_config.actions", "is empty: give at least one action")
  end
  for i, action in ipairs(actions) do
    if type(action) == "table" and not json.is_array(action) then
      check_action(action, i, ids, found)
    else
      found:error("type", ("autonomous_config.actions[%d]"):format(i), "must be an object, not %s", fields.show(action))
      actions[i] = { id = "", preconditions = {}, effects = {} }
    end
  end
  fields.check_mapped(ids, "autonomous_config.actions", found)
  local seen = check_schema(autonomous, found)
  check_termination(autonomous, seen, found)
  if not found:errors() then
    check_needs(actions, ids, found)
  end
end

---A copy sorted by (priority, highest first; then declared order) (F8).
---@param actions table[]
---@return table[]
function M.by_priority(actions)
  local place, sorted = {}, {}
  for i, action in ipairs(actions) do
    place[action], sorted[i] = i, action
  end
  table.sort(sorted, function(a, b)
    if a.priority ~= b.priority then
      return a.priority > b.priority
    end
    return place[a] < place[b]
  end)
  return sorted
end

return M
