-- A server of the Model Context Protocol: tools that act, a list that changes, what it asks in between: a person, whose
-- answer it acts on, and what it may know. CRASH_MCP: its folder, where it counts how often it acted.
local skillrt = require "skillrt"

local function use(ctx, name, arguments, idempotent)
  local text, message, class = ctx.tool("mcp__our__" .. name, arguments, { idempotent = idempotent })
  return text or error({ message = message, class = class }, 0)
end

local function act(_, ctx)
  local out = { use(ctx, "act", { n = 1 }), use(ctx, "echo", { text = "a" }, true) }
  use(ctx, "change", {}, true)
  local there = {}
  local list, why, of_class = ctx.mcp("our"):tools()
  for _, tool in ipairs(list or error({ message = why, class = of_class }, 0)) do
    there[tool.name] = true
  end
  out[3] = there.echo and use(ctx, "act", { n = 2 })
  local both, message, class = ctx.all { function() return use(ctx, "echo", { text = "b" }, true) end,
    function() return use(ctx, "act", { n = 3 }) end }
  if not both then
    error({ message = message, class = class }, 0)
  end
  return { acted = out, both = both }
end

local function asked(_, ctx)
  local roots, said = use(ctx, "wonder", { about = "roots" }, true), use(ctx, "wonder", { about = "consent" })
  return { roots = roots:find("/tmp", 1, true) ~= nil, said = said:match '"name":"(%a+)"' }
end

return skillrt.skill {
  name = "crash-mcp", mode = "autonomous", state = {}, retry = { base = 0.001, jitter = false },
  mcp = { our = { command = { "lua5.4", "tests/support/mcp_server.lua", "good", os.getenv "CRASH_MCP" },
    roots = { "/tmp" }, timeout = 5 } },
  actions = { { id = "act", priority = 10, run = act }, { id = "asked", priority = 5, when = "both", run = asked } },
}
