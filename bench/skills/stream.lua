-- stream.lua: a model whose answer is a long stream of events (bench/receive).
local skillrt = require "skillrt"

return skillrt.skill {
  name = "stream",
  mode = "sequential",
  durability = "process",
  agents = { model = skillrt.agent.anthropic { url = os.getenv "BENCH_URL", key_env = "BENCH_KEY" } },
  phases = { { id = "a", agent = "model", prompt = "Say it.", answer = "text", output_free = true } },
}
