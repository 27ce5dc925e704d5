-- run/call/kind/command.lua: a program that is run, and its output. Found by its name.

local transport = require("skillrt.run.call.transport")

---@type skillrt.CallKind
return {
  begin = transport.begin,
  take_up = transport.take_up,
  rang = transport.rang,
  send = transport.send,
  replied = transport.replied,
  give_up = transport.give_up,
  fill = transport.set_folder,
}
