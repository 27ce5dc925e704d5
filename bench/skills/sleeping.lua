-- sleeping.lua: a run whose step waits for a program for ten minutes, which may be repeated.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "sleeping",
  state = { done = false },
  actions = { { id = "sleep", when = "!done", run = function(_, ctx)
    ctx.await { kind = "command", idempotent = true, argv = { "sleep", "600" } }
    return { done = true }
  end } },
}
