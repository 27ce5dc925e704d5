-- run/call/kind/command.lua: a program that is run, and its output. Found by its name.

local transport = require("skillrt.run.call.transport")

---@type skillrt.CallKind
return setmetatable({
  fill = transport.set_folder,
}, { __index = transport })
