-- waiting.lua: a run that waits for an event, as ten thousand of them do in one host.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "waiting",
  durability = "process",
  state = { n = 0 },
  actions = { { id = "wait", run = function(_, ctx) return { n = ctx.wait { event = "go" } and 1 } end } },
}
