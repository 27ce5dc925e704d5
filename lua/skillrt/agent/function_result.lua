-- agent/function_result.lua: the meaning of the values that a function of the script returned or raised.
--
-- The same rules hold for the function of an action or phase, an agent's function and a parser: an action returns
-- updates, a phase its output and updates; nil, message, class is a failure. Anything else is refused, never dropped.
-- Knows no steps and no coroutines.

local fatal = require("skillrt.base.fatal")
local failure = require("skillrt.agent.failure")
local names = require("skillrt.base.names")

local M = {}

local function refused(who, what, kind)
  local rule = kind == "phase" and "a phase returns its output, then a table of updates"
    or "an action returns one table of updates, or nothing"
  return nil, ("%s returned %s; %s; a failure is nil, message, class"):format(who, what, rule), "permanent"
end

-- nil, message, class; the reply may follow them, as ctx.await gives it.
local function failed(who, kind, values)
  if values.n > 4 or (values[4] ~= nil and type(values[4]) ~= "table") then
    return refused(who, "more than nil, message, class", kind)
  end
  local class, message = failure.claimed(values[3], values[2])
  return nil, message, class
end

local function action_outcome(who, values)
  if values[1] ~= nil and type(values[1]) ~= "table" then
    local more = type(values[2]) == "string" and " and " .. names.show(values[2]) or ""
    return refused(who, names.show(values[1]) .. more, "action")
  elseif values.n > 1 then
    return refused(who, names.show(values[1]) .. " and then " .. names.show(values[2]), "action")
  end
  return { status = "completed", updates = values[1] }
end

local function phase_outcome(who, values)
  if values.n > 2 then
    return refused(who, "a third value, " .. names.show(values[3]), "phase")
  elseif values[2] ~= nil and type(values[2]) ~= "table" then
    return refused(who, names.show(values[1]) .. " and then " .. names.show(values[2]), "phase")
  end
  return { status = "completed", output = values[1], updates = values[2] }
end

local OF_FAILURE <const> = { class = true, message = true, call = true }

-- Whether a function returned nil and a failure as a table: { class = "context", message = "..." }.
local function is_failure(kind, values)
  local given = values[2]
  if values[1] ~= nil or values.n ~= 2 or type(given) ~= "table" or type(rawget(given, "class")) ~= "string" then
    return false
  end
  for key in next, given do
    if kind == "phase" and not OF_FAILURE[key] then
      return false -- a phase without an output, and its updates
    end
  end
  return true
end

---What a function returned.
---@param kind "action"|"phase"
---@param who string  names the function in messages
---@param ... any
---@return skillrt.Outcome|nil outcome
---@return string? message
---@return skillrt.FailureClass? class
function M.outcome(kind, who, ...)
  local values = table.pack(...)
  while values.n > 0 and values[values.n] == nil do -- nils at the end mean nothing
    values.n = values.n - 1
  end
  if values[1] == nil and type(values[2]) == "string" then
    return failed(who, kind, values)
  elseif is_failure(kind, values) then
    local given = values[2]
    local message = type(given.message) == "string" and given.message or "failed"
    return failed(who, kind, { nil, message, given.class, n = 3 })
  end
  return (kind == "phase" and phase_outcome or action_outcome)(who, values)
end

-- A field of an error, read safely whatever its metatable does.
local function field(problem, name)
  local ok, value = pcall(function()
    return problem[name]
  end)
  return ok and value or nil
end

local function shown(problem)
  local ok, text = pcall(tostring, problem)
  return ok and type(text) == "string" and text or "a " .. type(problem)
end

---The failure that a function raised: a table may name its class and the call that is to blame.
---@param who string
---@param problem any
---@return nil
---@return string message
---@return skillrt.FailureClass class
---@return any call
---@return true|nil is_meant  it is a table with a message, so it was raised on purpose
function M.raised(who, problem)
  fatal.pass_on(problem) -- the run was interrupted: not the function's failure
  if type(problem) == "string" then
    return nil, problem, "permanent"
  end
  local message = type(problem) == "table" and field(problem, "message")
  if type(message) ~= "string" then
    return nil, ("%s raised an error object: %s"):format(who, shown(problem)), "permanent"
  end
  local class = field(problem, "class")
  local code = field(problem, "code")
  if class == nil and failure.CLAIMED[code] then
    class = code
  end
  local named, text = failure.claimed(class, message)
  return nil, text, named, field(problem, "call"), true
end

---The same, as the failure of a step or branch.
---@param who string
---@param problem any
---@return table failure  { message, class, blame = a call's place, raised = true: not on purpose }
function M.failure(who, problem)
  local _, message, class, call, is_meant = M.raised(who, problem)
  return { message = message, class = class, blame = type(call) == "string" and call or nil,
    raised = not is_meant or nil }
end

return M
