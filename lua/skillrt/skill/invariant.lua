-- skill/invariant.lua: conditions that must be true of a skill's state after every step (R86); if one is not, the
-- state is damaged, and the run is rolled back to its last checkpoint.
--
-- Knows conditions, nothing of runs. Called by skill/init.lua and outcome.lua.

local action = require("skillrt.skill.action")
local json = require("skillrt.base.json")
local when = require("skillrt.skill.when")

local M = {}

---Gives `skill.invariants` its normal form.
---@param skill skillrt.Skill
---@return string? message
function M.check(skill)
  local list, message = action.conditions(skill.invariants, "invariants")
  if not list then
    return message --[[@as string]]
  end
  skill.invariants = list
end

-- Whether its last result still holds: nothing that it reads has changed since.
local function is_settled(condition, known, state, changes)
  if not known or type(condition) ~= "table" or condition.reads_all then
    return false -- what a function reads is unknown
  end
  for _, key in ipairs(condition.reads) do
    if changes[key] ~= nil or (state.revisions[key] or 0) > known.at then
      return false
    end
  end
  return true
end

local function reads_any(condition, changes)
  for _, key in ipairs(type(condition) == "table" and condition.reads or {}) do
    if changes[key] ~= nil then
      return true
    end
  end
  return false
end

---The violated ones, with the reasons. Only those that read a changed key are evaluated.
---@param list table[]            of the skill
---@param state skillrt.State     as it is
---@param next table              as it will be
---@param changes table<string, any>  the keys that differ then
---@param judged table            the values at their last evaluation; written to
---@return string[]|nil broken
function M.broken(list, state, next, changes, judged)
  local broken
  for i, condition in ipairs(list) do
    local known = judged[i]
    if not is_settled(condition, known, state, changes) then
      local ok, why = when.test(condition, next)
      known = { at = state.revision, told = not ok and (why and ("%s (%s)"):format(when.text(condition), why)
        or when.text(condition)) or nil }
      judged[i] = not reads_any(condition, changes) and known or nil -- else the state is not applied yet
    end
    if known.told then
      broken = broken or json.array({})
      broken[#broken + 1] = known.told
    end
  end
  return broken
end

return M
