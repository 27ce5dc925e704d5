-- base/sse.lua: the core's parser of server-sent events under a name for Lua modules.
--
-- A thin door: knows nothing of what events mean.

local core = require("skillrt.core")

local M = {}

---The events of a whole body, in order. An event that the body's end cuts off is not among them.
---@type fun(body: string): { event: string, data: string, id: string }[]|nil, boolean|string, string?
M.events = core.sse

return M
