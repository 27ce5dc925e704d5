-- run/call/kind/http.lua: an HTTP exchange. Found by its name.

local request_of = require("skillrt.agent.request")
local sandbox = require("skillrt.skill.sandbox")
local transport = require("skillrt.run.call.transport")

---@type skillrt.CallKind
return setmetatable({
  fill = function(calls, call, task, entry)
    task.addresses = sandbox.addresses(call.request, calls.run.skill)
    task.headers = {}
    for name, value in pairs(call.request.headers) do
      task.headers[name] = value
    end
    entry.key = request_of.keyed(task, entry.key)
  end,
}, { __index = transport })
