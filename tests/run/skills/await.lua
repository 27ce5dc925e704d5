-- One function that waits for several tasks: commands and pauses, each an exchange of the step.
local skillrt = require "skillrt"

local function work(_, ctx)
  local before, token = ctx.now(), ctx.uuid()
  local first, message, class = ctx.await { kind = "command", argv = { "printf", "one" } }
  if not first then
    return nil, message, class
  end
  local slept, why, how = ctx.await { kind = "sleep", seconds = 0.001 }
  if not slept then
    return nil, why, how
  end
  local draw = ctx.random(1, 6)
  local second, message2, class2 = ctx.await { kind = "command", argv = { "printf", "two" } }
  if not second then
    return nil, message2, class2
  end
  local third, message3, class3 = ctx.await { agent = "echo", prompt = "say it" }
  if not third then
    return nil, message3, class3
  end
  assert(before == ctx.now() or before > 0)
  return {
    words = { first.stdout, second.stdout, third.output },
    ok = #token == 36 and draw >= 1 and draw <= 6,
  }
end

return skillrt.skill {
  name = "crash-await",
  mode = "autonomous",
  state = { words = {}, closed = false },
  retry = { base = 0.001, jitter = false },
  agents = { echo = skillrt.agent.command { "printf", "%s", "three" } },
  actions = {
    { id = "work", priority = 10, run = work },
    { id = "close", priority = 5, when = "ok && words.length === 3",
      run = function() return { closed = true } end },
  },
}
