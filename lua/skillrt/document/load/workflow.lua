-- document/load/workflow.lua: workflow.json (R11-R15) as the part of a skill-config that says which phases run.
--
-- Old places and shapes are taken and told. Called by document/load/init.lua and sources.lua.
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"

local M = {}

local function object(value)
  return type(value) == "table" and not json.is_array(value) and value or nil
end

-- The places of the phases in the order of phases_to_run, each found by its id (R28).
local function chosen(document, at, found)
  local by_id, out, seen, order = {}, {}, {}, document.phases_to_run
  for i, phase in ipairs(document.phases) do
    by_id[phase.id], out[i] = i, not order and i or nil
  end
  for i, id in ipairs(order or {}) do
    local place = at(("phases_to_run[%d]"):format(i))
    if not by_id[id] then
      local hint = names.suggest(tostring(id), by_id)
      found:error("workflow", place, ("phases_to_run names %s, which is no phase%s"):format(names.show(id), hint))
    elseif seen[id] then
      found:error("workflow", place, ("phases_to_run names %s twice"):format(names.show(id)), "a phase runs once")
    else
      seen[id] = true
      out[#out + 1] = by_id[id]
    end
  end
  for _, phase in ipairs(order and document.phases or {}) do
    if not seen[phase.id] then
      found:note("workflow", at "phases_to_run", ("phase %s is not in phases_to_run"):format(phase.id),
        "it does not run")
    end
  end
  return out
end

-- `input` is what R13 writes, `inputs` the whole list; a name no phase writes is user input.
local function phase_of(phase)
  local out, inputs = form.taken("workflow_phase", phase), phase.inputs or phase.input
  out.input = inputs and json.array {}
  for _, name in ipairs(inputs or {}) do
    out.input[#out.input + 1] = name ~= "user input" and name or nil
  end
  return out
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
  elseif not form.check("workflow", document, found, at) then
    return nil
  elseif #document.phases == 0 then
    local fix = 'write "phases": [ { "id": "01-...", ... } ]'
    found:error("workflow", at "phases", "has no phases", "nothing of it can run", fix)
    return nil
  end
  local loop = document.loop
  local raw = form.taken("workflow", document, { sequential_config = { phases = json.array {} },
    x_skillrt = { termination = document.termination,
      hybrid = loop and { order = loop.order, on_loop_failed = loop.on_loop_failed } } })
  local origin = {}
  for i, place in ipairs(chosen(document, at, found)) do
    raw.sequential_config.phases[i], origin[i] = phase_of(document.phases[place]), place
  end
  return raw, function(key)
    local n, rest = key:match "^sequential_config%.phases%[(%d+)%](.*)$"
    local i = n and origin[math.tointeger(tonumber(n))]
    return at(i and ("phases[%d]%s"):format(i, rest) or (key:gsub("^sequential_config%.", "")))
  end
end

return M
