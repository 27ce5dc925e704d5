-- What tests/c/test_chaos.c runs many of: phases, three of them at once, whose agents are the program that keeps a
-- book. The second is asked about when nobody knows whether it was executed, and skipped then.
local skillrt = require "skillrt"

local agents, phases = {}, {}
for i, name in ipairs { "a", "once-b", "c", "once-d", "e" } do
  agents["agent_" .. i] = skillrt.agent.command {
    "{input.program}", "--agent", name, "{input.book}", "{input.told}", parse = "text",
    idempotent = not name:find "^once",
  }
  phases[i] = { id = "phase-" .. i, agent = "agent_" .. i, parallel = i > 1 and i < 5,
    output = ("out/%d.txt"):format(i) }
end

return skillrt.skill {
  name = "chaos-phases", mode = "sequential", retry = { base = 0.001, jitter = false },
  limits = { max_errors = 1000 }, agents = agents, phases = phases,
}
