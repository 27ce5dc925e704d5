-- Six actions at once, four places for them: a place that is free is filled. Two must not be repeated.
local skillrt = require "skillrt"

local agents, actions = {}, {}
for i, name in ipairs { "a", "once-b", "c", "d", "once-e", "f" } do
  agents[name] = skillrt.agent.command { "printf", name, parse = "lines", idempotent = not name:find "^once" }
  actions[i] = { id = "action-" .. name, agent = name }
end

return skillrt.skill {
  name = "orders-many", mode = "autonomous", retry = { base = 0.001, jitter = false },
  limits = { max_parallel = 4 },
  strategy = { name = "all", select = function(_, available)
    local ids = {}
    for i, one in ipairs(available) do
      ids[i] = one.id
    end
    return ids
  end },
  agents = agents, actions = actions,
}
