-- run/call/kind/host.lua: a function of the program that embeds us. Found by its name.

local transport = require("skillrt.run.call.transport")

---@type skillrt.CallKind
return {
  begin = transport.begin,
  take_up = transport.take_up,
  rang = transport.rang,
  send = transport.send,
  replied = transport.replied,
  give_up = transport.give_up,
  fill = function(_, call, task, entry)
    entry.key = call.request.key or entry.key
    task.key = entry.key
  end,
}
