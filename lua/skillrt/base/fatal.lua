-- base/fatal.lua: the errors that a pcall of ours must not take for an answer of the script's: the run
-- is being stopped from outside, memory is short, or the journal cannot be read.
--
-- A condition that could not be asked for want of memory is not false, and a step in which
-- memory ran out has not failed: the question of the engine fails, and the run pauses. Knows
-- nothing else. Called wherever a script's function runs under pcall.

local M = {}

local NO_MEMORY = "not enough memory" -- what Lua itself raises, without a place

-- Errors that were raised by `raise`: a script cannot make one.
local raised = setmetatable({}, { __mode = "k" })

---Raises an error that no pcall around a script's function may keep.
---@param message string
---@param code string
function M.raise(message, code)
  local problem = { message = message, code = code }
  raised[problem] = true
  error(problem, 0)
end

---Whether an error value says that the run cannot continue: it is interrupted, memory is out, or `raise` raised it.
---@param problem any
---@return boolean
function M.is(problem)
  if type(problem) ~= "table" then
    return problem == NO_MEMORY
  end
  local code = rawget(problem, "code") -- past a metatable of the script's
  return code == "stopped" or code == "memory" or raised[problem] == true
end

---Raises the error again if it is one of those.
---@param problem any
function M.pass_on(problem)
  if problem == NO_MEMORY then
    error({ message = NO_MEMORY, code = "memory" }, 0)
  elseif M.is(problem) then
    error(problem, 0)
  end
end

return M
