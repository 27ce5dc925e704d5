-- cli/command/mcp.lua: `skillrt mcp PATH ...`: serves skills as MCP tools over standard input and output, so that a
-- coding agent or an editor starts and follows durable runs.

local core = require("skillrt.core")
local serving = require("skillrt.cli.serving.options")

local M = {
  name = "mcp",
  summary = "Serves skills as MCP tools over stdio: list, run, status, answer, resume, stop, log, explain",
  description = "A client such as Claude Code starts it. Runs continue after the client disconnects. A folder's "
    .. "code runs only after a person has approved it, here with --trust or with skillrt run --trust. A "
    .. "client may lower limits, but not raise them.",
  arguments = { { name = "PATH", is_skill = "each", many = true, help = "a skill, or a folder with skills" } },
  options = serving.options({
    { name = "raise", help = "lets clients raise the limit that a run has paused at" },
    { name = "list", help = "prints what is served as JSON, and exits" },
  }),
}

local MOST_LINES <const> = 64 -- lines handled before other work gets its turn

-- Handles lines until the input ends and every request is answered.
local function serve(server)
  local lines = core.serve.lines(require("skillrt.cli.mcp.server").LONGEST)
  while server.open do
    local left, why = MOST_LINES
    repeat
      local text
      text, why = lines:next()
      left = left - 1
      if text or why == "long" then
        server:take(text)
      end
    until left == 0 or why == "none" or why == "closed" or not server.open
    server:advance(why == "closed")
    if why == "closed" and server.count == 0 then
      break
    elseif not core.serve.wait(left == 0 and 0 or server:patience(), lines, server.runs:watched()) then
      return require("skillrt.cli.exit_codes").interrupted
    end
  end
  return 0
end

---@param args table
---@return integer|nil code
function M.run(args)
  local served, message = serving.read(args)
  if not served then
    return nil, message, "invalid"
  elseif args.list then
    require("skillrt.report.output").write(serving.described(served.skills, args) .. "\n")
    return 0
  end
  return serve(require("skillrt.cli.mcp.server").new(served))
end

return M
