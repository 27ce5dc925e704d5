-- base/sse.lua: the core's parser of server-sent events for Lua modules.
--
-- Knows nothing of what events mean.

local core = require("skillrt.core")

local M = {}

---The events of a whole body, in order, without one that the end of the body cuts off.
---@param body string
---@return { event: string, data: string, id: string }[]|nil events
---@return boolean|string cut_or_message
---@return string? code
function M.events(body)
  local list, cut, code = core.sse(body)
  if code == "memory" then -- says nothing about the body
    error({ message = cut, code = code }, 0)
  end
  return list, cut, code
end

return M
