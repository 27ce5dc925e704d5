-- skill/on_indoubt.lua: what a skill says of calls of which nobody knows whether they were executed.
--
-- Knows no calls. Called by skill/init.lua.

local names = require("skillrt.base.names")

local M = {}

local INDOUBT = { ask = true, retry = true, skip = true, fail = true }

---@param skill table
---@return string? problem
function M.check(skill)
  local value = skill.on_indoubt
  if type(value) == "function" or INDOUBT[value] then
    return nil
  end
  local message = 'field "on_indoubt" must be "ask", "retry", "skip", "fail" or a function, not %s%s'
  return message:format(names.show(value), names.meant(value, INDOUBT))
end

return M
