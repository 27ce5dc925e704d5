-- agent/phase.lua: the part of a prompt about the current phase: the tool set, the phases that may follow and how to
-- choose one, the results of earlier phases, and which fields of the state belong to others.
--
-- Every kind of agent gets the same words; tool/presence.lua decides which tools a model is sent. Knows no runs.

local privileges = require("skillrt.base.privileges")
local names = require("skillrt.base.names")
local switches = require("skillrt.skill.switches")
local tool_sets = require("skillrt.skill.tool_sets")
local data_marks = require("skillrt.base.data_marks")

local M = {}

local function add_switching(lines, phased)
  local switching = phased.switching
  if not switches.REPORTS[switching.by] then
    return
  end
  lines[#lines + 1] = "You decide when this phase has finished. The phases:"
  for _, set in ipairs(phased.skill.tool_sets) do
    local rule = switching.rules and switching.rules[set.name]
    local following = table.concat(switches.following(phased, set.name), ", ")
    lines[#lines + 1] = ("- %s: %s%s; then: %s"):format(set.name, set.description,
      rule and (". It has finished when: %s"):format(rule) or "", following ~= "" and following or "nothing")
  end
  lines[#lines + 1] = ("To start the next phase, call switch_phase, or if you lack this tool, end with: %s"):format(
    switches.marker("NAME"))
end

-- The names of a set, each with the tools that it is bound to.
local function listed(phased)
  local out = {}
  for i, name in ipairs(phased.set.tools) do
    local list = table.concat(tool_sets.bound(phased.skill, phased.set, name), ", ")
    out[i] = list ~= name and ("%s (%s)"):format(name, list) or name
  end
  return table.concat(out, ", ")
end

local function add_contract(lines, phased)
  if phased.kept[1] then
    lines[#lines + 1] = ("Kept for you, leave them out of your answer: %s."):format(table.concat(phased.kept, ", "))
  end
  for _, key in ipairs(phased.needs) do
    local more = {}
    for _, name in ipairs(names.sorted(phased.takes)) do
      more[#more + 1] = ('"%s": what is wrong, a list'):format(name)
    end
    lines[#lines + 1] = ('"stateUpdates" must hold "%s", true or false%s.'):format(key,
      more[1] and ", and " .. table.concat(more, ", ") or "")
  end
end

---The lines about the phase; empty where there is none.
---@param lines string[]
---@param task skillrt.Task
function M.add(lines, task)
  local phased = task.phased
  if not phased then
    return
  end
  local set = phased.set
  if set then
    lines[#lines + 1] = ("[TOOL SET] %s: %s"):format(set.name, set.description)
    lines[#lines + 1] = phased.names and ("Use these tools and no others: %s"):format(listed(phased))
      or "All tools are there."
    if phased.prompt then
      lines[#lines + 1] = phased.prompt
    end
    add_switching(lines, phased)
  end
  add_contract(lines, phased)
  if phased.before then
    lines[#lines + 1] = "[PHASES BEFORE]"
    lines[#lines + 1] = data_marks.marked(phased.before, "PHASES BEFORE")
  end
  lines[#lines + 1] = ""
end

---An agent that is asked once for a step ends its answer with a marker; later steps are then in that phase.
---@param ctx table
---@param task skillrt.Task
---@param texts (string|nil)[]  its words, in several forms
function M.take_report(ctx, task, texts)
  local phased = task.phased
  if not (phased and phased.set and switches.REPORTS[phased.switching.by]) then
    return
  end
  for i = 1, 3 do
    local name = switches.reported(texts[i])
    if name then
      local from = phased.set.name
      local set, problem = switches.target(phased, from, name)
      return privileges.of(ctx).mark({ t = "switch", from = from, to = set and name or name:sub(1, 64), by = "report",
        refused = not set and problem or nil, keeps = set and switches.kept(phased.skill, name) })
    end
  end
end

return M
