-- What two openers race for: a function that waits in branches, one that asks nothing, a question, and an
-- end. RACE_ASK=1: a person has to say how it goes on in between; RACE_COMMAND=1: it ends with a program.
local skillrt = require "skillrt"

local function wait(ctx, part)
  return ctx.await { kind = "sleep", seconds = 0.0001 * part } and part
end

return skillrt.skill {
  name = "race", mode = "autonomous", state = { asked = false }, retry = { base = 0.001, jitter = false },
  strategy = { name = "asks", select = function(state, available, ctx)
    if os.getenv "RACE_ASK" and state.second and not ctx.answer then
      return nil, { ask = { question = "go on?", options = { { id = "yes", label = "Yes" } } } }
    end
    return available[1] and available[1].id
  end },
  agents = { sleeper = skillrt.agent.command { "sleep", "0.002", parse = "text", idempotent = true } },
  actions = {
    { id = "first", priority = 9, run = function(_, ctx)
      return { first = ctx.map({ 1, 2, 3 }, function(part) return wait(ctx, part) end) }
    end },
    { id = "second", priority = 8, when = "first.length === 3", run = function() return { second = true } end },
    { id = "third", priority = 7, when = "second", run = function(_, ctx)
      local kept = ctx.once("kept", function() return 7 end)
      local function after(part)
        return function() return wait(ctx, part) and kept end
      end
      return { third = ctx.first { after(1), after(9) } }
    end },
    os.getenv "RACE_COMMAND" and { id = "fourth", when = "third === 7", agent = "sleeper" } or nil,
  },
}
