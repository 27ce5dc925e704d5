-- document/load/workflow.lua: workflow.json (R11-R15) as the part of a skill-config that says which phases run.
--
-- Old places and shapes are taken and told. Called by document/load/init.lua and sources.lua.
local form = require "skillrt.document.generate.form"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"
local skill_md = require "skillrt.document.load.skill_md"

local M = {}

local function object(value)
  return type(value) == "table" and not json.is_array(value) and value or nil
end

local function given(value)
  return value ~= json.null and value or nil
end

local function tell_unknown(value, kind, where, at, found)
  for _, key in ipairs(form.unknown(value, kind)) do
    local what = ("%s%s: no such key%s"):format(where, key, names.meant(key, form.OBJECTS[kind].rank))
    found:warn("unknown-key", at(where .. key), what, "nothing reads it")
  end
end

-- The phases in the order of phases_to_run, each found by its id (R28).
local function chosen(document, at, found)
  local by_id, out = {}, json.array {}
  for i, phase in ipairs(document.phases) do
    local id = type(phase) == "table" and phase.id
    if type(id) ~= "string" then
      found:error("workflow", at(("phases[%d]"):format(i)), "a phase has no id", "it cannot be run", "give it an id")
    elseif by_id[id] then
      local what = ("phase %s stands here a second time"):format(names.show(id))
      found:error("workflow", at(("phases[%d]"):format(i)), what, "the first is used", "rename one")
    else
      by_id[id] = phase
      out[#out + 1] = phase
    end
  end
  local order = given(document.phases_to_run)
  if type(order) ~= "table" then
    return out
  end
  out = json.array {}
  local seen = {}
  for i, id in ipairs(order) do
    local place = at(("phases_to_run[%d]"):format(i))
    if not by_id[id] then
      local hint = names.suggest(tostring(id), by_id)
      local what = ("phases_to_run names %s, which is no phase%s"):format(names.show(id), hint)
      found:error("workflow", place, what, "it cannot be run", "add it to phases, or remove it here")
    elseif seen[id] then
      found:error("workflow", place, ("phases_to_run names %s twice"):format(names.show(id)), "a phase runs once")
    else
      seen[id] = true
      out[#out + 1] = by_id[id]
    end
  end
  for _, phase in ipairs(document.phases) do
    if type(phase) == "table" and by_id[phase.id] and not seen[phase.id] then
      local what = ("phase %s is not in phases_to_run"):format(phase.id)
      found:note("workflow", at "phases_to_run", what, "it does not run")
    end
  end
  return out
end

-- `input` is what R13 writes, `inputs` the whole list; a name no phase writes is user input.
local function phase_of(phase)
  local out = {}
  for _, key in ipairs { "id", "name", "description", "output", "parallel", "condition", "agent", "objectives" } do
    out[key] = given(phase[key])
  end
  local inputs = given(phase.inputs)
  if inputs == nil then
    inputs = given(phase.input)
    inputs = type(inputs) == "string" and { inputs } or inputs
  end
  if type(inputs) == "table" then
    out.input = json.array {}
    for _, name in ipairs(inputs) do
      out.input[#out.input + 1] = name ~= "user input" and name or nil
    end
  end
  return out
end

local function termination_of(document, own)
  local termination = object(given(document.termination))
  if termination then
    own.termination = {
      on_success = given(termination.on_success),
      on_error = given(termination.on_error),
      max_retries = given(termination.max_retries),
    }
  end
  local loop = object(given(document.loop))
  if loop then
    own.hybrid = { order = given(loop.order), on_loop_failed = given(loop.on_loop_failed) }
  end
end

-- A workflow lies beside a SKILL.md or alone; its name follows the same rule in both places.
local function check_name(document, at, found)
  local name = given(document.skill_name)
  if name ~= nil and not skill_md.is_name(name) then
    local what = "its skill_" .. skill_md.NAME_RULE:format(names.show(name))
    found:error("skill-name", at "skill_name", what, "hosts refuse other names", "rename it")
  end
end

local function place_in(list, wanted)
  for i, one in ipairs(list) do
    if one == wanted then
      return i
    end
  end
  return nil
end

---What a workflow.json says, as keys of a skill-config.
---@param document any  decoded
---@param at fun(key: string): { file: string, line: integer? }
---@param found skillrt.Findings
---@return table? raw  skill_name, version, execution_mode, context_strategy, sequential_config, x_skillrt
---@return (fun(key: string): { file: string, line: integer? })? place  where a key of raw stands
function M.config(document, at, found)
  if not object(document) then
    found:error("workflow", at "", "must be an object with phases", "nothing of it was read")
    return nil
  elseif type(given(document.phases)) ~= "table" or #document.phases == 0 then
    local fix = 'write "phases": [ { "id": "01-...", ... } ]'
    found:error("workflow", at "phases", "has no phases", "nothing of it can run", fix)
    return nil
  end
  tell_unknown(document, "workflow", "", at, found)
  for i, phase in ipairs(document.phases) do
    tell_unknown(object(phase) or {}, "workflow_phase", ("phases[%d]."):format(i), at, found)
  end
  check_name(document, at, found)
  local raw = { sequential_config = { phases = json.array {} }, x_skillrt = {} }
  for key in ("skill_name display_name description version execution_mode context_strategy"):gmatch "%S+" do
    raw[key] = given(document[key])
  end
  local origin = {}
  for i, phase in ipairs(chosen(document, at, found)) do
    raw.sequential_config.phases[i], origin[i] = phase_of(phase), place_in(document.phases, phase)
  end
  termination_of(document, raw.x_skillrt)
  return raw, function(key)
    local n, rest = key:match "^sequential_config%.phases%[(%d+)%](.*)$"
    local i = n and origin[math.tointeger(tonumber(n))]
    return at(i and ("phases[%d]%s"):format(i, rest) or (key:gsub("^sequential_config%.", "")))
  end
end

return M
