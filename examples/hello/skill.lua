-- skill.lua: the smallest skill that has to decide something: greets each name, then says goodbye.

local skillrt = require "skillrt"

return skillrt.skill {
  name = "hello",
  state = { names = { "Ada", "Grace", "Barbara" }, greeted = 0, said_goodbye = false },
  actions = {
    {
      id = "greet", priority = 20, when = "greeted < names.length", max_runs = 100,
      run = function(state, ctx)
        local number = state.greeted + 1
        ctx.log("Hello, " .. state.names[number] .. "!")
        return { greeted = number }
      end,
    },
    {
      id = "say-goodbye", priority = 10, when = "greeted === names.length && !said_goodbye",
      run = function(_, ctx)
        ctx.log("Goodbye.")
        return { said_goodbye = true }
      end,
    },
  },
}
