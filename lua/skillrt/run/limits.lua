-- run/limits.lua: what holds a run whatever its mode: time, steps, errors.
--
-- Knows the books; counts nothing itself. Called by policy.lua and scheduler.lua.

local core = require("skillrt.core")

local M = {}

---Whether the run has reached a limit, whatever it does.
---@param run skillrt.Run
---@param session skillrt.Session
---@return string? status
---@return string? reason
---@return string? message
function M.reached(run, session)
  if session.deadline and core.wall_ms() >= session.deadline then
    local text = ("the run took longer than run_timeout, %g seconds"):format(run.skill.limits.run_timeout)
    return "paused", "run_timeout", text
  end
end

---Whether one more step may begin. Phases of a hybrid run do not use up the iterations of its loop.
---@param run skillrt.Run
---@param mode table
---@param one skillrt.Action
---@return string? status
---@return string? reason
---@return string? message
function M.before_step(run, mode, one)
  local most = run.skill.limits.max_iterations
  if run.books.state.root.iteration_count >= most and one.id ~= "action-abort" and mode:counts(one) then
    return "failed", "max_iterations", ("the limit of %d iterations is reached"):format(most)
  end
end

---Whether too many steps have failed.
---@param run skillrt.Run
---@return boolean
function M.too_many_errors(run)
  return run.books.state.root.error_count >= run.skill.limits.max_errors
end

return M
