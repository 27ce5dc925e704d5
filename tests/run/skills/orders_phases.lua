-- Four commands at once, two of which must not be repeated, then one that needs them all.
local skillrt = require "skillrt"

local agents, phases = {}, {}
for i, name in ipairs { "a.1", "once-b.1", "c.1", "once-d.1" } do
  agents[name] = skillrt.agent.command { "printf", name, parse = "lines", idempotent = not name:find "^once" }
  phases[i] = { id = "phase-" .. i, agent = name, parallel = true }
end
agents.last = skillrt.agent.command { "printf", "last", parse = "lines", idempotent = true }
phases[5] = { id = "last", agent = "last", input = { "phase-1.json", "phase-2.json", "phase-3.json", "phase-4.json" } }

return skillrt.skill {
  name = "orders-phases", mode = "sequential", retry = { base = 0.001, jitter = false },
  agents = agents, phases = phases,
}
