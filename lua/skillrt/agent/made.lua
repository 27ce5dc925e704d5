-- agent/made.lua: an agent of a kind from what the author declared: its fields checked by the kind's own table of
-- them.
--
-- Knows no kinds. Used by those that ask for no more than that.

local schema = require("skillrt.skill.schema")

local M = {}

---@param class table       the kind, with FIELDS
---@param definition table
---@param where string      names it in messages
---@return table? agent
---@return string? message
function M.of(class, definition, where)
  local agent, message = schema.record(definition, class.FIELDS, where)
  if not agent then
    return nil, message
  end
  agent.kind = nil -- the class has it
  return setmetatable(agent, class)
end

return M
