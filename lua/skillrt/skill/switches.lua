-- skill/switches.lua: which tool set may follow which, and the one marker by which an agent reports that it switches
-- to another (F57).
--
-- Pure: knows sets, no runs and no conversations. Used by agent/phase.lua and tool/switching.lua.

local sets = require("skillrt.skill.tool_sets")
local text_of = require("skillrt.base.text")

local M = {}

---The kinds of switching in which the agent says where to go.
M.REPORTS = { report = true, rules = true }

---The format of the marker: the last line of an agent's text, alone on its line.
---@param name string
---@return string
function M.marker(name)
  return ("<<phase: %s>>"):format(name)
end

---The set that a text reports; nil: none. A phase that is only mentioned does not count.
---@param text string|nil
---@return string|nil name
function M.reported(text)
  local last = type(text) == "string" and text_of.behind_last(text_of.trim_end(text), "\n")
  return last and last:match("^<<phase: ([%w._-]+)>>$") or nil
end

---What the runtime writes into the state at a switch; nil: nothing.
---@param skill skillrt.Skill
---@param name string
---@return table|nil
function M.kept(skill, name)
  return skill.kept and skill.kept.phase and { phase = name } or nil
end

---The sets that may follow a set.
---@param phased skillrt.Phased
---@param from string
---@return string[]
function M.following(phased, from)
  local next_of, out = phased.switching.next, {}
  if next_of then
    return next_of[from] or out
  end
  for _, set in ipairs(phased.skill.tool_sets) do
    out[#out + 1] = set.name ~= from and set.name or nil
  end
  return out
end

---The text about a set that becomes active during a conversation.
---@param skill skillrt.Skill
---@param set skillrt.ToolSet
---@param prompt string|nil  what it says besides
---@return string
function M.entered(skill, set, prompt)
  local list = sets.names(skill, set)
  return ("The phase is %s now: %s. Tools: %s.%s"):format(set.name, set.description,
    list and table.concat(list, ", ") or "all that there are", prompt and "\n" .. prompt or "")
end

---A switch requested by an agent: its set, and why it is refused.
---@param phased skillrt.Phased
---@param from string
---@param name string
---@return skillrt.ToolSet|nil set
---@return string? problem
function M.target(phased, from, name)
  local set = sets.find(phased.skill, name)
  if not set then
    return nil, sets.unknown(phased.skill, name)
  elseif name == from then
    return nil, ("the phase is %s already"):format(name)
  end
  local following = M.following(phased, from)
  for _, one in ipairs(following) do
    if one == name then
      return set
    end
  end
  return nil, ("%s does not follow %s; there %s"):format(name, from,
    following[1] and "follows " .. table.concat(following, " or ") or "follows nothing")
end

return M
