-- reply.lua: one step that asks a program for a reply (the file named by BENCH_REPLY): what a large one costs from
-- start to end.
local skillrt = require "skillrt"

return skillrt.skill {
  name = "reply",
  actions = {
    { id = "get", agent = { kind = "command", argv = { "cat", os.getenv "BENCH_REPLY" }, parse = "json" },
      terminal = true },
  },
}
