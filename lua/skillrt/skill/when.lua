-- skill/when.lua: whether an action or phase may run now: evaluates its compiled conditions on a state.
--
-- Knows conditions and functions of scripts, nothing of how they were declared, of runs or of modes.

local expr = require("skillrt.expr")
local fatal = require("skillrt.base.fatal")
local names = require("skillrt.base.names")
local state_of = require("skillrt.skill.state")

local M = {}

local function named_function(run)
  local info = debug.getinfo(run, "S")
  return ("the function at %s:%d"):format(info.short_src, info.linedefined)
end

-- The argument of a script's function: never the state itself.
local function view_of(state)
  return state_of.view(state) -- for a view: itself
end

---Whether one condition is true. A function gets the state read-only; one that raises counts as false, and the reason
---says so (F48).
---@param condition skillrt.Condition|fun(state: table): boolean
---@param state table
---@return boolean
---@return string? reason
---@return string? said  what a function returned after its value
function M.test(condition, state)
  if type(condition) == "table" then
    return condition(state)
  end
  local ok, result, why = pcall(condition, view_of(state))
  if not ok then
    fatal.pass_on(result)
    local name, said = named_function(condition), names.said(result)
    local place = name:match("[^ ]*$") .. ": "
    return false, ("%s failed: %s"):format(name, said:sub(1, #place) == place and said:sub(#place + 1) or said)
  end
  return result and true or false, nil, type(why) == "string" and why or nil
end
local test = M.test

---Whether all conditions of an action or phase are true.
---@param action skillrt.Action
---@param state table
---@return boolean
---@return string? reason  the first that is false
function M.holds(action, state)
  local when = action.when
  for i = 1, #when do
    local ok, reason = test(when[i], state)
    if not ok then
      return false, reason or M.text(when[i])
    end
  end
  return true
end

---Its conditions as one function that may raise, for evaluating many actions in a row: if it raises, use `holds`.
---@param action skillrt.Action
---@return (fun(state: table): any)?  nil: one of them is a function of a script
function M.test_of(action)
  local tests = {}
  for i, condition in ipairs(action.when) do
    if type(condition) == "function" or condition.has_arrows then
      return nil
    end
    tests[i] = condition.test
  end
  return #tests == 1 and tests[1] or function(state)
    for i = 1, #tests do
      if not tests[i](state) then
        return false
      end
    end
    return true
  end
end

---Called before tests: they share one budget of steps.
function M.refill()
  return expr.refill()
end

---A condition in the form that people read.
---@param condition skillrt.Condition|function
---@return string
function M.text(condition)
  return type(condition) == "table" and condition.text or named_function(condition)
end

---Why a condition could not be evaluated, in the form that people read.
---@param condition skillrt.Condition|function
---@param reason string  of M.test
---@return string
function M.problem(condition, reason)
  return type(condition) == "table" and ("%s: %s"):format(condition.text, reason) or reason
end

---The false conditions, with their values, for a report of what blocks a run (F28).
---@param action skillrt.Action
---@param state table
---@return string[]
function M.unmet(action, state)
  local out = {}
  for _, condition in ipairs(action.when) do
    local ok, reason = test(condition, state)
    if not ok and type(condition) == "table" then
      out[#out + 1] = condition:explain(state, true)
    elseif not ok then
      out[#out + 1] = reason or M.text(condition)
    end
  end
  return out
end

return M
