-- agent/kind/skill.lua: an agent that is another skill: a step runs it (ctx.run), and the result of that run is the
-- step's. It acts by the calls of its own steps, not by itself.

local Agent = require("skillrt.agent.kind")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

---@class skillrt.agent
---@field skill fun(definition: string|table): skillrt.Agent  another skill: { "path" or a skill, input = table or
---  function(state, item, index), as = a field of the state }

---@class skillrt.SkillAgent: skillrt.Agent
local M = Agent.new({ kind = "skill", acts = false, FIELDS = {
  skill = { type = { "text", "table" }, required = true },
  input = { type = { "table", "function" } },
  as = { type = "text" },
  idempotent = { type = "boolean", default = true },
} })

local function is_skill(value)
  return type(value) == "table" and getmetatable(value) ~= nil
end

---A path, a skill and { path or skill, ... } -> { skill = path or skill, ... }
---@param given any
---@return any
function M.normal(given)
  if type(given) == "string" or is_skill(given) then
    return { skill = given }
  elseif type(given) ~= "table" then
    return given
  end
  local copy = tables.fill({}, given)
  copy.skill, copy[1] = copy.skill or copy[1], nil
  return copy
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M:check(definition, where)
  local skill = definition.skill
  if not is_skill(skill) and (type(skill) ~= "string" or skill == "") then
    return nil, ("%s: needs a skill or the path of one, not %s"):format(where, names.show(skill))
  end
  return Agent.check(self, definition, where)
end

---Unknown: another skill may use anything.
function M.cost()
  return nil
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
