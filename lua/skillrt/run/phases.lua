-- run/phases.lua: what the runtime does for a skill's phases: the tool set that each step starts with, the state
-- fields that it writes itself (phase, verified, retry_count), and what a prompt says about both (R108, F51, F52).
--
-- Used only where a skill has tool sets or a step says `keeps`. Knows the skill and the books, records nothing. Called
-- by steps.lua, outcome.lua and task.lua.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local sets = require("skillrt.skill.tool_sets")
local tables = require("skillrt.base.tables")

local M = {}

---Further fields of a step's `start` record: the active set, whatever was active before (F52), and what the runtime
---writes now.
---@param run skillrt.Run
---@param definition skillrt.Action
---@param said table  the fields are added to it
function M.start(run, definition, said)
  local skill, keeps = run.skill, definition.keeps
  if skill.tool_sets and (definition.run or definition.agent) then
    said.tool_set = definition.tool_set or run.books.tool_set or skill.switching.start
  end
  if keeps and (keeps.at_start or keeps.counts) then
    said.keeps = tables.fill({}, keeps.at_start)
    if keeps.counts then
      local before = run.books.state.root[keeps.counts]
      said.keeps[keeps.counts] = (math.type(before) == "integer" and before or 0) + 1
    end
  end
end

---A step's result without the fields that only the runtime writes, and with what the runtime writes when the step
---completes.
---@param skill skillrt.Skill
---@param definition skillrt.Action
---@param updates table
---@return table updates
---@return string[]|nil refused  sorted
---@return string|nil problem    what is missing
function M.done(skill, definition, updates)
  local keeps, out, refused = definition.keeps or {}, {}, nil
  for key, value in pairs(updates) do
    local meant = (keeps.takes or {})[key]
    if skill.kept[key] then
      refused = refused or {}
      refused[#refused + 1] = key
    elseif meant == nil or updates[meant] == nil then
      out[meant or key] = value
    end
  end
  for _, key in ipairs(keeps.needs or {}) do
    if out[key] == nil or out[key] == json.null then
      return updates, nil, ('its answer lacks "%s": put it into stateUpdates'):format(key)
    end
  end
  tables.fill(out, keeps.at_end)
  if refused then
    table.sort(refused)
  end
  return out, refused
end

-- ---- what a prompt says ----

---@class skillrt.Phased
---@field skill skillrt.Skill
---@field set skillrt.ToolSet|nil   the active one
---@field names string[]|nil        the names of its tools; nil: all
---@field switching skillrt.Switching|nil
---@field before string|nil         JSON of earlier phases, bounded
---@field kept string[]             fields that only the runtime writes
---@field needs string[]            fields that the answer must hold
---@field takes table<string, string>
---@field prompt string|nil         further text of the set
---@field text_of fun(set: skillrt.ToolSet): string?  the same of another set

-- What a prompt says about earlier phases: as many of the newest as there is room for (R115, F58).
local function before_of(step, most)
  local list, room = {}, most - 2
  for i = #(step.phases or {}), 1, -1 do
    local one = step.phases[i]
    local text = json.encode({ phase = one.phase, outputs = one.outputs or json.array({}),
      errors = one.errors or json.array({}), files = one.files or json.array({}) }, { sorted = true })
    room = room - #text - 2
    if room < 0 then
      break
    end
    table.insert(list, 1, text)
  end
  return list[1] and "[" .. table.concat(list, ",\n") .. "]" or nil
end

---The information about phases for whoever performs a step; nil: none.
---@param run skillrt.Run
---@param step skillrt.Step
---@param definition skillrt.Action
---@param text_of fun(prompt: string): string  of a prompt that may be a file
---@return skillrt.Phased|nil
function M.of_task(run, step, definition, text_of)
  local skill, keeps = run.skill, definition.keeps or {}
  if not skill.tool_sets and not skill.kept then
    return nil
  end
  local out = { skill = skill, kept = names.sorted(skill.kept or {}), needs = keeps.needs or {},
    takes = keeps.takes or {} }
  if skill.tool_sets then
    local switching = skill.switching
    local active = step.tool_set or definition.tool_set or switching.start
    out.set, out.switching = sets.find(skill, active), switching
    out.names = out.set and sets.names(skill, out.set)
    function out.text_of(set)
      return set.prompt and text_of(set.prompt)
    end
    out.prompt = out.set and out.text_of(out.set)
    out.before = switching.summary > 0 and before_of(step, switching.summary) or nil
  end
  return out
end

return M
