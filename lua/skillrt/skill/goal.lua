-- skill/goal.lua: what a skill is to reach: its conditions, and that the run ends when they hold.
--
-- Knows no plans and no runs. Called by skill/init.lua, before `terminate` is read.

local action = require("skillrt.skill.action")
local ends = require("skillrt.skill.ends")
local when = require("skillrt.skill.when")

local M = {}

-- One condition of all: a text where they are texts.
local function whole(conditions)
  local texts = {}
  for i, one in ipairs(conditions) do
    texts[i] = type(one) == "table" and (#conditions > 1 and "(" .. one.text .. ")" or one.text) or nil
  end
  if #texts == #conditions then
    return table.concat(texts, " && ")
  end
  return function(state)
    return when.holds({ when = conditions }, state)
  end
end

---Gives `skill.goal` its normal form, a list of conditions, and adds it to what ends the run.
---@param skill table
---@return string? problem
function M.check(skill)
  local conditions, message = action.conditions(skill.goal, 'field "goal"')
  if not conditions then
    return message
  elseif #conditions == 0 then
    return 'field "goal" is empty; give a condition'
  end
  local given, list = skill.terminate, {}
  if given == nil then
    given = ends.BUILTIN
  elseif type(given) ~= "table" or given.when ~= nil then
    given = { given }
  end
  table.move(given, 1, #given, 2, list)
  list[1] = { when = whole(conditions), status = "completed", reason = "goal_reached" }
  skill.goal, skill.terminate = conditions, list
  return nil
end

return M
