-- skill/terminate.lua: what ends a run besides its work being done (R73, F29): built-in names,
-- conditions, functions, each with the status and reason it ends with.
--
-- Knows conditions, nothing of runs. Called by skill/init.lua.

local ends = require("skillrt.skill.ends")
local when = require("skillrt.skill.when")
local expr = require("skillrt.expr")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local state = require("skillrt.skill.state")

local M = {}

---@class skillrt.Termination
---@field text string
---@field builtin string?
---@field condition (fun(state: table): boolean, string?)?
---@field status "completed"|"failed"|"aborted"|"paused"|nil
---@field reason string?

local ENDS = { "completed", "failed", "aborted", "paused" }
local MAX_REASON = 63 -- what the engine keeps of a reason

-- A bare name that is no state field and nearly a built-in one is a slip of the pen.
local function mistyped_end(text, skill)
  if not text:find("^[%a_][%w_]*$") or skill.state[text] ~= nil or (skill.schema and skill.schema[text]) then
    return nil
  end
  local near = not state.is_reserved(text) and names.nearest(text, ends.BUILTIN)
  if near and math.abs(#near - #text) <= 2 then
    return ('unknown condition "%s" (did you mean "%s"?)'):format(text, near)
  end
  return nil
end

local function short_reason(text)
  return #text <= MAX_REASON and text or text:sub(1, utf8.offset(text, 0, MAX_REASON - 2) - 1) .. "..."
end

local function end_condition(value, skill)
  if type(value) == "function" then
    return {
      text = when.text(value),
      reason = "condition",
      condition = function(now)
        return when.test(value, now)
      end,
    }
  elseif type(value) ~= "string" then
    return nil, "must be a condition (a text) or a function, not " .. names.show(value)
  end
  if ends.is_builtin[value] then
    return { text = value, builtin = value }
  end
  local slip = mistyped_end(value, skill)
  if slip then
    return nil, slip
  end
  local condition, message = expr.compile(value)
  if not condition then
    return nil, message
  end
  return { text = value, condition = condition, reason = short_reason(value) }
end

local END_FIELDS = {
  when = { required = true },
  status = { enum = ENDS, default = "completed" },
  reason = { type = "text" },
}

-- One entry of `terminate`.
local function termination(value, skill, where)
  local table_form = type(value) == "table" and not (getmetatable(value) or {}).__call
  local given, message =
    schema.record(table_form and value or { when = value }, END_FIELDS, where, { condition = "when" })
  if not given then
    return nil, message
  elseif given.reason and #given.reason > MAX_REASON then
    return nil, ('%s: field "reason" must be at most %d bytes long'):format(where, MAX_REASON)
  end
  local out, problem = end_condition(given.when, skill)
  if not out then
    return nil, ("%s: %s"):format(where, problem)
  elseif not out.builtin then
    out.status, out.reason = given.status, given.reason or out.reason
  elseif table_form and (value.status or value.reason) then
    return nil, ('%s: "%s" has its own status and reason; leave them out'):format(where, out.builtin)
  end
  return out
end

---Gives `skill.terminate` its normal form.
---@param skill skillrt.Skill  with its state and schema
---@return string? message  what is wrong
function M.check(skill)
  local list, out = skill.terminate, {}
  if list == nil then
    list = ends.BUILTIN
  elseif type(list) ~= "table" or list.when ~= nil then
    list = { list }
  end
  for i = 1, #list do
    local one, message = termination(list[i], skill, ("terminate[%d]"):format(i))
    if not one then
      return message
    end
    out[i] = one
  end
  for key in pairs(list) do
    if math.type(key) ~= "integer" then
      return ('field "terminate" must be a list, but holds %s; write { { when = ... } }'):format(names.show(key))
    end
  end
  skill.terminate = out
  return nil
end

return M
