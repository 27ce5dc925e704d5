-- document/generate/config_actions.lua: the actions of a config: ids, conditions, state fields, termination.
--
-- Called by generate.config only.
local fields = require "skillrt.document.generate.fields"
local form = require "skillrt.document.form"
local ends = require "skillrt.skill.ends"
local machine_of = require "skillrt.document.generate.config_machine"

local M = {}

local function check_action(action, i, ids, found)
  local where = ("autonomous_config.actions[%d]."):format(i)
  if ids[action.id] then
    local message = "%s is action %d too: rename one"
    found:error("duplicate-id", where .. "id", message, form.show(action.id), ids[action.id])
    return
  end
  ids[action.id] = i
  action.name = action.name or action.id
end

local function check_schema(autonomous, found)
  local seen = {}
  for i, field in ipairs(autonomous.state_schema.fields) do
    local where, name = ("autonomous_config.state_schema.fields[%d].name"):format(i), field.name
    if not name:find "^[A-Za-z_\128-\255][%w_\128-\255]*$" then
      found:error("field", where, "must be a name such as files_done, not %s", form.show(name))
    elseif seen[name] then
      found:error("duplicate-field", where, "%s is field %d too: remove one", form.show(name), seen[name])
    end
    seen[name] = i
  end
  return seen
end

local function check_termination(autonomous, seen, found)
  for i, condition in ipairs(autonomous.termination_conditions) do
    local bare = condition:find "^[%a_][%w_]*$"
    if bare and not ends.is_builtin[condition] and not seen[condition] then
      local key = ("autonomous_config.termination_conditions[%d]"):format(i)
      local message = "%s is neither a known reason nor a field of the state"
      found:warn("unknown-termination", key, message, form.show(condition))
    end
  end
end

---Applies the defaults of `autonomous_config` and checks it; the types of all in it are right.
---@param config table
---@param found skillrt.Findings
function M.normalise(config, found)
  local autonomous, ids = config.autonomous_config, {}
  machine_of.normalise(config, found)
  if #autonomous.actions == 0 then
    found:error("empty", "autonomous_config.actions", "is empty: give at least one action")
  end
  for i, action in ipairs(autonomous.actions) do
    check_action(action, i, ids, found)
  end
  fields.check_mapped(ids, "autonomous_config.actions", found)
  check_termination(autonomous, check_schema(autonomous, found), found)
end

return M
