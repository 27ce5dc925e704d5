-- Two tasks for an agent behind HTTP that knows a request it has seen by its Idempotency-Key.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "crash-http",
  mode = "autonomous",
  state = { asked = 0 },
  retry = { base = 0.001, jitter = false },
  agents = {
    expert = skillrt.agent.http { url = "{input.first}", idempotent = true },
    second = skillrt.agent.http { url = "{input.second}", idempotent = true },
  },
  actions = {
    { id = "ask", priority = 20, agent = "expert", prompt = "what is the answer" },
    { id = "again", priority = 10, when = "asked === 1", agent = "second", prompt = "and again" },
  },
}
