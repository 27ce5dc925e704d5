-- Three commands at once, which must not be repeated without being asked, then one that may.
local skillrt = require "skillrt"

local function say(word)
  return skillrt.agent.command { "printf", "%s", word }
end

return skillrt.skill {
  name = "crash-parallel",
  mode = "sequential",
  retry = { base = 0.001, jitter = false },
  agents = {
    one = say "first",
    two = say "second",
    three = say "third",
    join = skillrt.agent.command { argv = { "cat" }, stdin = "{state.outputs.a}", idempotent = true },
  },
  phases = {
    { id = "a", agent = "one", parallel = true, output = "a.txt" },
    { id = "b", agent = "two", parallel = true, output = "b.txt" },
    { id = "c", agent = "three", parallel = true, output = "c.txt" },
    { id = "join", agent = "join", output = "joined.txt" },
  },
}
