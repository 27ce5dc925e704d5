-- run/call/kind/http.lua: an HTTP exchange. Found by its name.

local request_of = require("skillrt.agent.request")
local transport = require("skillrt.run.call.transport")

---@type skillrt.CallKind
return setmetatable({
  fill = function(_, call, task, entry)
    task.headers = {}
    for name, value in pairs(call.request.headers) do
      task.headers[name] = value
    end
    entry.key = request_of.keyed(task, entry.key)
  end,
}, { __index = transport })
