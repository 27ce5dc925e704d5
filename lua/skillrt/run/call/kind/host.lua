-- run/call/kind/host.lua: a function of the program that embeds us. Found by its name.

local transport = require("skillrt.run.call.transport")

---@type skillrt.CallKind
return setmetatable({
  fill = function(_, call, task, entry)
    entry.key = call.request.key or entry.key
    task.key = entry.key
  end,
}, { __index = transport })
