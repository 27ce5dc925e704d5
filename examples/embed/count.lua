-- count.lua: a skill for a host: counts to five, one durable step each, and waits a moment.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "count",
  state = { n = 0, words = "" },
  actions = {
    {
      id = "count",
      when = "n < 5",
      max_runs = 5,
      priority = 10,
      run = function(state)
        return { n = state.n + 1 }
      end,
    },
    {
      id = "say",
      when = "n === 5",
      run = function(_, ctx)
        local reply = assert(ctx.await { kind = "command", argv = { "printf", "five" } })
        return { words = reply.stdout }
      end,
    },
  },
}
