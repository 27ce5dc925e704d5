-- base/sse.lua: the core's parser of server-sent events under a name for Lua modules.
--
-- A thin door: knows nothing of what events mean.

local core = require("skillrt.core")

local M = {}

---The events of a whole body, in order. An event that the body's end cuts off is not among them.
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
