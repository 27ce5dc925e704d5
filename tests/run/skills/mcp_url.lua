-- A server of MCP behind a URL that asks in between (tests/support/http_mcp.c): four uses of tools that may act. Each
-- use is two messages: the call, which is answered by a question, and what follows. The server counts how often it
-- acted.
local skillrt = require "skillrt"

local function use(ctx, tool)
  local text, message, class = ctx.tool("mcp__far__" .. tool, {}, { timeout = 5 })
  return text or error({ message = message, class = class }, 0)
end

return skillrt.skill {
  name = "crash-mcp-url", mode = "autonomous", state = {}, retry = { base = 0.001, jitter = false },
  mcp = { far = { url = os.getenv "CRASH_URL", roots = { "." } } },
  actions = {
    { id = "first", priority = 10, run = function(_, ctx) return { told = { use(ctx, "one"), use(ctx, "two") } } end },
    { id = "second", priority = 5, when = "told", run = function(_, ctx)
      return { more = { use(ctx, "a"), use(ctx, "b") } }
    end },
  },
}
