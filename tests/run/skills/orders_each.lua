-- An action for each item of a list: a function that waits twice, whose second item must not be repeated;
-- and an agent for each.
local skillrt = require "skillrt"

local function say(ctx, name)
  local reply, message, class = ctx.await {
    kind = "command", argv = { "printf", name }, idempotent = not name:find "^once",
  }
  return reply and reply.stdout, message, class
end

return skillrt.skill {
  name = "orders-each", mode = "autonomous", retry = { base = 0.001, jitter = false },
  state = { items = { "a", "once-b" }, others = { "c", "d" } },
  schema = { said = { merge = "union" } },
  agents = {
    echo = skillrt.agent.command { "printf", "{item}-1", parse = "text", idempotent = true },
  },
  actions = {
    { id = "work", priority = 10, each = "items", run = function(_, ctx, item)
      local first, message, class = say(ctx, item .. ".1")
      if not first then
        return nil, message, class
      end
      local second, message2, class2 = say(ctx, item .. ".2")
      if not second then
        return nil, message2, class2
      end
      return { [item:gsub("%-", "_")] = first .. " " .. second }
    end },
    { id = "ask", when = "a && once_b", each = "others", agent = "echo" },
  },
}
