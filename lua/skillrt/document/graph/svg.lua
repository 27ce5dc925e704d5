-- document/graph/svg.lua: dot text drawn by graphviz, as a run of one step kept in memory: the program is
-- started by the core, without a shell.

local runner = require("skillrt.run.runner")

local M = {}

local MAX_SVG = 64 << 20
local SECONDS = 60

---@param text string  in graphviz's language
---@return string? svg
---@return string? message
function M.draw(text)
  return runner.perform("draw-graph", function(ctx)
    local reply, why = ctx.await({ kind = "command", argv = { "dot", "-Tsvg" }, stdin = text, timeout = SECONDS,
      max_output = MAX_SVG })
    return reply and reply.body, why
  end)
end

return M
