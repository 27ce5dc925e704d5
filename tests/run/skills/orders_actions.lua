-- Two functions at once, each of which waits for two commands, one after the other; the second one's
-- must not be repeated. Then one that joins what they made.
local skillrt = require "skillrt"

local function both(name, idempotent)
  return function(_, ctx)
    local texts = {}
    for i = 1, 2 do
      local reply, message, class = ctx.await {
        kind = "command", argv = { "printf", ("%s.%d"):format(name, i) }, idempotent = idempotent,
      }
      if not reply then
        return nil, message, class
      end
      texts[i] = reply.stdout
    end
    return { [name:gsub("%-", "_")] = table.concat(texts, " ") }
  end
end

return skillrt.skill {
  name = "orders-actions", mode = "autonomous", retry = { base = 0.001, jitter = false },
  strategy = { name = "all", select = function(_, available)
    local ids = {}
    for i, one in ipairs(available) do
      ids[i] = one.id
    end
    return ids
  end },
  actions = {
    { id = "a", run = both("a", true) },
    { id = "once", run = both("once_b", false) },
    { id = "join", when = "a && once_b", run = function(state) return { joined = state.a .. " " .. state.once_b } end },
  },
}
