-- skill/invariant.lua: what must hold of a skill's state after every step (R86): conditions; where one does not, the
-- state is damaged, and the run goes back to its last checkpoint.
--
-- Knows conditions, nothing of runs. Called by skill/init.lua and outcome.lua.

local expr = require("skillrt.expr")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local when = require("skillrt.skill.when")

local M = {}

---Gives `skill.invariants` its normal form.
---@param skill skillrt.Skill
---@return string? message
function M.check(skill)
  local list = skill.invariants
  if type(list) ~= "table" or getmetatable(list) and getmetatable(list).__call then
    list = { list }
  end
  local out = {}
  for i, value in ipairs(list) do
    local condition, message = value, nil
    if type(value) == "string" then
      condition, message = expr.compile(value)
    elseif type(value) ~= "function" then
      message = "must be a condition (a text) or a function, not " .. names.show(value)
    end
    if not condition or message then
      return ("invariants[%d]: %s"):format(i, message)
    end
    out[i] = condition
  end
  skill.invariants = out
end

---Those that do not hold, with why.
---@param skill skillrt.Skill
---@param state table
---@return string[]|nil broken
function M.broken(skill, state)
  local broken
  for _, condition in ipairs(skill.invariants) do
    local ok, why = when.test(condition, state)
    if not ok then
      local text = when.text(condition)
      broken = broken or json.array({})
      broken[#broken + 1] = why and ("%s (%s)"):format(text, why) or text
    end
  end
  return broken
end

return M
