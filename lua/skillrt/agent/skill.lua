-- agent/skill.lua: an agent that is another skill: a step runs it (ctx.run), and what it came to is the step's
-- result. It acts by the calls that its own steps await, not by itself.

local made = require("skillrt.agent.made")
local names = require("skillrt.base.names")

---@class skillrt.SkillAgent
local M = { kind = "skill", acts = false, is_script = false }
M.__index = M

M.FIELDS = {
  kind = { enum = { "skill" } },
  name = { type = "text" },
  skill = { type = { "text", "table" }, required = true },
  input = { type = { "table", "function" } },
  as = { type = "text" },
  idempotent = { type = "boolean", default = true },
}

---@param definition table  { skill = a path or a skill, input = table or function(state, item, index), as = field };
---  the skill may stand first
---@param where string
---@return table? agent
---@return string? message
function M.check(definition, where)
  local copy = {}
  for key, value in pairs(definition) do
    copy[key] = value
  end
  copy.skill, copy[1] = copy.skill or copy[1], nil
  local skill = copy.skill
  local is_skill = type(skill) == "table" and getmetatable(skill) ~= nil
  if not is_skill and (type(skill) ~= "string" or skill == "") then
    return nil, ("%s: needs a skill or the path of one, not %s"):format(where, names.show(skill))
  end
  return made.of(M, copy, where)
end

function M.needs_http()
  return false
end

function M.reads_prompt()
  return false
end

---@param ctx table
---@param task skillrt.Task
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M:perform(ctx, task)
  local input = self.input
  if type(input) == "function" then
    input = input(task.state, task.item, task.index)
  end
  local result, message, class = ctx.run(self.skill, input or task.input)
  if not result then
    return nil, message, class
  end
  local step = task.action or task.phase
  local field = self.as or task.kind == "action" and step.id
  return {
    status = "completed",
    updates = field and { [field] = result.state } or nil,
    output = task.kind == "phase" and result.state or nil,
  }
end

return M
