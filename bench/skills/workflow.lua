-- workflow.lua: BENCH_CALLS agents at BENCH_URL side by side by ctx.map: what workflow.js asks for, in Lua.
local skillrt = require "skillrt"

return skillrt.workflow {
  name = "bench",
  durability = "process",
  agents = { default = skillrt.agent.http { url = os.getenv "BENCH_URL" } },
  run = function(ctx, args)
    local numbers = {}
    for i = 1, args.agents do
      numbers[i] = i
    end
    return #ctx.map(numbers, function(i)
      return ctx.agent("say " .. i, { schema = { type = "object" } })
    end)
  end,
}
