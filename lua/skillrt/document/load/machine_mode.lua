-- document/load/machine_mode.lua: a definition whose transition table, from a config or from documents, makes it a
-- skill of mode "machine": the table decides what is next, so nothing derived from it stays with the actions.
--
-- Knows no documents. Called by config.lua and folder.lua.
local machine_skill = require "skillrt.skill.machine_skill"

local M = {}

---The key of the state under which documents keep the machine's.
M.KEY = "state"

local FROM_TABLE = { "terminal", "repeatable", "priority" }

-- The targets of actions belong to the table.
local function without_way(effects)
  local out = {}
  for _, one in ipairs(effects or {}) do
    local text = type(one) == "table" and one.text or one
    out[#out + 1] = not tostring(text):find "^%s*state%s*=" and one or nil
  end
  return out
end

---@param definition table  for skillrt.skill; autonomous so far
---@param machine table     the table, as skill/machine.lua takes it
---@param derived boolean?  the conditions of its actions were derived from the table
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

return M
