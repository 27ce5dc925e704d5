-- run/ctx/awaited.lua: what ctx.await is asked for: a request of the script's own, checked and with the time it
-- has; or work for an agent.
--
-- Raises where a script is wrong. Knows requests, agents and limits; nothing of branches. Part of ctx.lua.

local functions_of = require("skillrt.run.runner.functions")
local request_of = require("skillrt.agent.request")
local task_of = require("skillrt.run.task")

local M = {}

-- Calls that have an end of their own: a person, a time and another skill have none.
local TIMED <const> = { http = true, command = true, session = true, host = true }

---A request, checked. One that says no time has that of its action, or step_timeout.
---@param run table
---@param definition skillrt.Action
---@param request table
---@return table checked
function M.checked(run, definition, request)
  local checked, problem = request_of.check(request, run.functions)
  if checked and checked.kind == "host" and run.functions[checked.name] == nil then
    problem = ("function %s: %s"):format(checked.name, functions_of.problem(checked.name, run.functions))
    checked = nil
  end
  if not checked then
    error("ctx.await: " .. problem, 3)
  elseif not checked.timeout and TIMED[checked.kind] then
    checked.timeout = run.limits:seconds_of(definition)
  end
  return checked
end

---Gives the work to an agent, in the branch that asks.
---@param run table
---@param step skillrt.Step
---@param definition skillrt.Action
---@param ctx table
---@param request table  { agent = name or definition, ... }
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M.by_agent(run, step, definition, ctx, request)
  local agent, problem
  if type(request.agent) == "table" then
    agent, problem = require("skillrt.agent").check(request.agent, "agent")
  else
    agent = run.skill.agents[request.agent]
  end
  if not agent then
    error("ctx.await: " .. (problem or ("agent %q is not declared"):format(tostring(request.agent))), 3)
  end
  local outcome, message, class = agent:perform(ctx, task_of.new(run, step, definition, request))
  if outcome then
    outcome.ours = nil -- a function of the script has it now
  end
  return outcome, message, class
end

return M
