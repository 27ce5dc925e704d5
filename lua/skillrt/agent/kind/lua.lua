-- agent/kind/lua.lua: an agent that is a function of the script: like a step's own function it gets (state, ctx) and
-- may wait. It acts by the calls that it awaits, not by itself.

local Agent = require("skillrt.agent.kind")
local json_schema = require("skillrt.base.json_schema")
local names = require("skillrt.base.names")
local function_result = require("skillrt.agent.function_result")

---@class skillrt.agent
---@field lua fun(run: function|table): skillrt.Agent  a function of the script: called as an action's run is

---@class skillrt.LuaAgent: skillrt.Agent
local M = Agent.new({ kind = "lua", acts = false, is_script = true, FIELDS = {
  run = { type = "function", required = true },
  idempotent = { type = "boolean", default = true },
} })

---@param given any
---@return table
function M.normal(given)
  return type(given) == "table" and given or { run = given }
end

---@param definition table  { run = function }
---@param where string
---@return table? agent
---@return string? message
function M:check(definition, where)
  if type(definition.run) ~= "function" then
    return nil, ("%s: needs a function, not %s"):format(where, names.show(definition.run))
  end
  return Agent.check(self, definition, where)
end

---Unknown: a function may use anything.
function M.cost()
  return nil
end

-- It gets a bare prompt as its third argument and returns the answer, which must fit the form that was asked for.
local function answer(self, ctx, task)
  local outcome, message, class = function_result.outcome("phase", self:label(), self.run(task.state, ctx, task.prompt))
  if outcome and task.schema then
    local fits, why = json_schema.judge(task.schema, outcome.output)
    if not fits then
      return nil, ("%s: %s"):format(self:label(), why), "invalid_output"
    end
  end
  return outcome, message, class
end

---Its errors are passed on to the step, with their traceback.
---@param ctx table
---@param task skillrt.Task
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M:perform(ctx, task)
  if task.bare then
    return answer(self, ctx, task)
  end
  local step = task.action or task.phase
  return function_result.outcome(task.kind, step.id .. ": run", self.run(task.state, ctx, task.item, task.index))
end

return M
