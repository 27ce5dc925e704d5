-- cli/command/acp.lua: `skillrt acp PATH ...`: serves skills to an editor by the Agent Client Protocol, over standard
-- input and output.

local core = require("skillrt.core")
local serving = require("skillrt.cli.serving.options")

local M = {
  name = "acp",
  summary = "Serves skills to an editor as an agent of the Agent Client Protocol, over stdio",
  description = "An editor such as Zed starts it. A prompt starts a run: /NAME TEXT of that skill, other text of "
    .. "the only one; TEXT is its input `task`. Runs continue after the editor ended.",
  arguments = { { name = "PATH", is_skill = "each", many = true, help = "a skill, or a folder with skills" } },
  options = serving.options({}),
}

---@param args table
---@return integer|nil code
function M.run(args)
  local served, message = serving.read(args)
  if not served then
    return nil, message, "invalid"
  end
  local acp = require("skillrt.cli.acp")
  local server, lines = acp.new(served), core.serve.lines(acp.LONGEST)
  repeat
    local text, why = lines:next()
    if text or why == "long" then
      server:take(text)
    end
    local busy = server:advance()
    if why == "closed" then
      return 0
    end
  until not server.open
    or not core.serve.wait((text or why == "long") and 0 or busy and 1000 or 60000, lines, served.runs:watched())
  return server.open and require("skillrt.cli.exit_codes").interrupted or 0
end

return M
