-- replayed.lua: a step that keeps BENCH_CALLS results, by rounds of ctx.loop or one call after the other
-- (BENCH_AS = "loop" or "calls"), each of BENCH_BYTES, and then waits for a person: something to go on with.
local skillrt = require "skillrt"

local calls = math.tointeger(tonumber(os.getenv "BENCH_CALLS" or 100))
local text = ("x"):rep(math.tointeger(tonumber(os.getenv "BENCH_BYTES" or 100)))

local function round(ctx, i)
  return ctx.once("round", function()
    return { i = i, text = text }
  end).i
end

return skillrt.skill {
  name = "replayed",
  mode = "autonomous",
  durability = "process",
  actions = {
    {
      id = "work",
      run = function(_, ctx)
        local last = 0
        if os.getenv "BENCH_AS" == "loop" then
          last = ctx.loop(0, function(_, i)
            return round(ctx, i), i == calls
          end)
        else
          for i = 1, calls do
            last = round(ctx, i)
          end
        end
        ctx.await { kind = "command", argv = { "sleep", "10" }, timeout = 0.02 } -- in doubt
        return { last = last }
      end,
    },
  },
}
