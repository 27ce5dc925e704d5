-- One function that waits for several tasks: commands and pauses, each an exchange of the step.
local skillrt = require "skillrt"

local function work(_, ctx)
  local before, token = ctx.now(), ctx.uuid()
  local first = assert(ctx.await { kind = "command", argv = { "printf", "one" } })
  assert(ctx.await { kind = "sleep", seconds = 0.001 })
  local draw = ctx.random(1, 6)
  local second = assert(ctx.await { kind = "command", argv = { "printf", "two" } })
  local third = assert(ctx.await { agent = "echo", prompt = "say it" })
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
  agents = { echo = skillrt.agent.command { "printf", "%s", "three" } },
  actions = {
    { id = "work", priority = 10, run = work },
    { id = "close", priority = 5, when = "ok && words.length === 3",
      run = function() return { closed = true } end },
  },
}
