-- waiting.lua: a run that waits for a long time, as ten thousand of them do in one host.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "waiting",
  durability = "process",
  actions = { { id = "wait", run = function(_, ctx) ctx.sleep(3600) end } },
}
