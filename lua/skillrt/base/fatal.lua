-- base/fatal.lua: errors that no pcall of ours may take for a result of the script: the run is being stopped, memory
-- is exhausted, or the journal cannot be read.
--
-- A condition that could not be evaluated for lack of memory is not false, and a step that ran out of memory has not
-- failed: the engine's question fails, and the run pauses. Called wherever a script's function runs under pcall.

local M = {}

local NO_MEMORY = "not enough memory" -- what Lua itself raises, without a place

-- Errors raised by `raise`: a script cannot make one.
local raised = setmetatable({}, { __mode = "k" })

---Raises an error that every pcall around a script's function must pass on.
---@param message string
---@param code string
function M.raise(message, code)
  local problem = { message = message, code = code }
  raised[problem] = true
  error(problem, 0)
end

---Whether an error means that the run cannot continue: it was interrupted, memory is exhausted, or `raise` raised
---it.
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
