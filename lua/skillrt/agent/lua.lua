-- agent/lua.lua: an agent that is a function of the script: it is given (state, ctx), as a step's own is,
-- and waits as that does. It acts by the calls that it awaits, not by itself.

local made = require("skillrt.agent.made")
local names = require("skillrt.base.names")
local returned = require("skillrt.agent.returned")

---@class skillrt.LuaAgent
local M = { kind = "lua", acts = false, is_script = true }
M.__index = M

M.FIELDS = {
  kind = { enum = { "lua" } },
  name = { type = "text" },
  run = { type = "function", required = true },
  idempotent = { type = "boolean", default = true },
}

---@param definition table  { run = function }
---@param where string
---@return table? agent
---@return string? message
function M.check(definition, where)
  if type(definition.run) ~= "function" then
    return nil, ("%s: needs a function, not %s"):format(where, names.show(definition.run))
  end
  return made.of(M, definition, where)
end

function M.needs_http()
  return false
end

function M.reads_prompt()
  return false
end

-- A bare prompt is its third argument; what it returns is the answer, and has to fit where a form was asked for.
local function answer(self, ctx, task)
  local outcome, message, class = returned.outcome("phase", self:label(), self.run(task.state, ctx, task.prompt))
  if outcome and task.schema then
    local fits, why = require("skillrt.base.json_schema").judge(task.schema, outcome.output)
    if not fits then
      return nil, ("%s: %s"):format(self:label(), why), "invalid_output"
    end
  end
  return outcome, message, class
end

---What it raises goes on to the step, with the way to it.
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
  return returned.outcome(task.kind, step.id .. ": run", self.run(task.state, ctx, task.item, task.index))
end

return M
