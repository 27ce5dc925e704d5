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
  local near = type(value) == "string" and names.nearest(value, INDOUBT)
  local hint = near and (' (did you mean "%s"?)'):format(near) or ""
  local message = 'field "on_indoubt" must be "ask", "retry", "skip", "fail" or a function, not %s%s'
  return message:format(names.show(value), hint)
end

return M
