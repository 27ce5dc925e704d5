-- document/graph/svg.lua: dot text drawn by graphviz, as a run of one step kept in memory: the program is
-- started by the core, without a shell.

local agent = require("skillrt.agent")
local runner = require("skillrt.run.runner")
local skill_of = require("skillrt.skill")

local M = {}

local MAX_SVG = 64 << 20
local SECONDS = 60

---@param text string  in graphviz's language
---@return string? svg
---@return string? message
function M.draw(text)
  local svg
  local skill = skill_of.new({
    name = "draw-graph",
    context = "memory",
    limits = { max_retries = 0, max_errors = 1 },
    agents = {
      dot = agent.command({
        argv = { "dot", "-Tsvg" },
        stdin = "{input.text}",
        timeout = SECONDS,
        max_output = MAX_SVG,
        parse = function(body)
          svg = body
          return {}
        end,
      }),
    },
    actions = { { id = "draw", agent = "dot", terminal = true } },
  })
  local result, message = runner.run(skill, { input = { text = text } })
  if not result then
    return nil, message
  elseif result.status ~= "completed" or not svg then
    return nil, result.message or result.reason
  end
  return svg
end

return M
