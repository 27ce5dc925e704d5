-- agent/lua.lua: an agent that is a function of the script; the run itself calls it.
--
-- It is given (state, ctx) as an action's own `run` is. Called by agent.lua.

local names = require("skillrt.base.names")

local M = {}

---@param definition table  { kind = "lua", run = function }
---@param where string
---@return table? agent
---@return string? message
function M.check(definition, where)
  if type(definition.run) ~= "function" then
    return nil, ("%s: needs a function, not %s"):format(where, names.show(definition.run))
  end
  return { kind = "lua", name = definition.name, run = definition.run, idempotent = definition.idempotent ~= false }
end

---@param agent table
---@return table request
function M.request(agent)
  return { kind = "lua", run = agent.run }
end

return M
