-- agent/kind/dry.lua: a stub agent (`--dry-run`): it answers at once with the smallest valid answer, so that one sees
-- what a skill would ask, and in which order.
--
-- If a JSON Schema describes the answer, the stub makes one from it. Pure; it does no work.

local Agent = require("skillrt.agent.kind")
local agents = require("skillrt.agent")
local cut = require("skillrt.base.text").cut
local json_example = require("skillrt.base.json_example")
local json_schema = require("skillrt.base.json_schema")
local models = require("skillrt.agent.models")
local plain = require("skillrt.agent.plain")
local tables = require("skillrt.base.tables")
local tally = require("skillrt.agent.tally")

---@class skillrt.agent
---@field dry fun(definition: table): skillrt.Agent  a stub: it gives the smallest valid answer

---@class skillrt.DryAgent: skillrt.Agent
local M = Agent.new({ kind = "dry", acts = false, idempotent = true, stub = "prompt", FIELDS = {
  like = { type = "table" }, -- the agent it stands in for: the cost of its prompts is estimated
} })

local WORDS <const> = "(dry run: no agent was called)"

-- The tokens of a prompt alone, three bytes each; what the answer would use is unknown.
local function used_by(self, task)
  local like = self.like or {}
  local kind = like.kind == "claude" and "anthropic" or like.kind
  local word = task.model or like.model
  local vendor = tables.object((agents.kind(kind) or {}).vendor)
  local model = kind and models.of({ kind = kind }, word) or word or vendor.model or ""
  return tally.counted({ input = #(task.prompt or "") // 3, output = 0 }, model)
end

local function in_form(self, wanted)
  local value = json_example.of(wanted)
  local fits, why = json_schema.judge(wanted, value)
  if not fits then
    return nil, ("%s: cannot make an answer that fits: %s"):format(self:label(), why), "permanent"
  end
  return { status = "completed", output = value }
end

---@param ctx table
---@param task skillrt.Task
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M:perform(ctx, task)
  for _, command in ipairs(plain.commands_of(task)) do
    ctx.log(("would run: %s"):format(command))
  end
  ctx.log("would ask: " .. cut((task.prompt or (task.action or task.phase).id):gsub("%s+", " "), 200))
  for i, one in ipairs(task.guide and task.answer == "text" and task.guide.steps or {}) do
    ctx.log(("would ask: step %d: %s"):format(i, one.title))
  end
  ctx.used(used_by(self, task))
  if task.schema then
    return in_form(self, task.schema)
  elseif task.answer == "text" or task.kind == "phase" then
    return { status = "completed", output = WORDS }
  end
  return { status = "completed", summary = WORDS }
end

return M
