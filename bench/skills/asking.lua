-- asking.lua: one step that asks BENCH_QUESTIONS questions at once. Used by bench/rows/questions.lua.
local skillrt = require "skillrt"
local count = math.tointeger(tonumber(os.getenv "BENCH_QUESTIONS" or "10000"))

return skillrt.skill {
  name = "asking", durability = "process",
  actions = { { id = "ask", run = function(_, ctx)
    local list = {}
    for i = 1, count do
      list[i] = i
    end
    ctx.map(list, function(i)
      return ctx.ask { header = "Question", question = ("Is number %d right?"):format(i), options = { "yes", "no" } }
    end)
  end } },
}
