-- document/load/config_sets.lua: the tool sets of a skill-config (x_skillrt.skills) and how they are switched
-- (x_skillrt.phase_detection), as parts of the definition that skillrt.skill takes, which checks them.
--
-- Pure. Called by config.lua.
local M = {}

-- What configs call the ways of switching (R106).
local BY <const> = { llm_self_report = "report", self_report = "report", tool_calls = "calls",
  tool_call_pattern = "calls", prompt = "rules", explicit = "rules" }

local function object(value)
  return type(value) == "table" and value or {}
end

-- By keys of a config: those of `switching`.
local SAME <const> = { "when", "start", "next", "rules", "window", "lead", "fallback" }

local OF_SET <const> = { "name", "description", "tools", "optional", "bind", "prompt" }

local function set_of(given)
  if type(given) ~= "table" then
    return given
  end
  local out = {}
  for _, key in ipairs(OF_SET) do
    out[key] = given[key]
  end
  return out
end

---@param definition table  gets what there is
---@param own table  x_skillrt
function M.add(definition, own)
  if type(own.skills) == "table" and own.skills[1] == nil or own.skills == nil then
    return
  end
  definition.tool_sets = {}
  for i, given in ipairs(own.skills) do
    definition.tool_sets[i] = set_of(given)
  end
  local given = own.phase_detection
  if type(given) == "table" then
    local switching = { by = BY[given.strategy] or given.strategy, map = given.tool_phase_map,
      summary = object(given.context_summary).max_bytes }
    for _, key in ipairs(SAME) do
      switching[key] = given[key]
    end
    definition.switching = switching
  end
end

return M
