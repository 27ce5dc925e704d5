-- skill/switches.lua: which tool set may follow which, and the one marker by which an agent says that it continues
-- to another (F57).
--
-- Pure: knows sets, no runs and no talks. Used by agent/phase.lua and tool/switching.lua.

local sets = require("skillrt.skill.tool_sets")
local text_of = require("skillrt.base.text")

local M = {}

---The ways of switching in which the agent says where to go.
M.REPORTS = { report = true, rules = true }

---How the marker is written: it is the last line of what an agent says, and nothing else stands in that line.
---@param name string
---@return string
function M.marker(name)
  return ("<<phase: %s>>"):format(name)
end

---The set that a text reports; nil: none. A phase that is merely spoken of is none, whatever is said of it.
---@param text string|nil
---@return string|nil name
function M.reported(text)
  local last = type(text) == "string" and text_of.behind_last(text_of.trim_end(text), "\n")
  return last and last:match("^<<phase: ([%w._-]+)>>$") or nil
end

---What the runtime writes into the state with a switch; nil: nothing.
---@param skill skillrt.Skill
---@param name string
---@return table|nil
function M.kept(skill, name)
  return skill.kept and skill.kept.phase and { phase = name } or nil
end

---What may follow a set.
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

---What is said of a set that becomes active in the middle of a talk.
---@param skill skillrt.Skill
---@param set skillrt.ToolSet
---@param prompt string|nil  what it says besides
---@return string
function M.entered(skill, set, prompt)
  local list = sets.names(skill, set)
  return ("The phase is %s now: %s. Tools: %s.%s"):format(set.name, set.description,
    list and table.concat(list, ", ") or "all that there are", prompt and "\n" .. prompt or "")
end

---A switch by what an agent said, whether it may be: its name, and why not.
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
