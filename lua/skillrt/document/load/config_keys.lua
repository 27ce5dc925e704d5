-- document/load/config_keys.lua: keys of a config, below its top, that nothing reads: told, with what was meant; and
-- values that nobody would look at, as they are of another type.
--
-- The lists are those of docs/schema/skill-config.schema.json; a spec compares them. Called by
-- document/load/init.lua and sources.lua.
local json = require "skillrt.base.json"
local limits = require "skillrt.skill.limits"
local names = require "skillrt.base.names"

local M = {}

local function set(text)
  local out = {}
  for key in text:gmatch "%S+" do
    out[key] = true
  end
  return out
end

local PHASE = set "id name description input output parallel condition agent objectives"
local ACTION = set [[id name description purpose preconditions effects priority repeatable max_runs type tool agent mode
  prompt scope analysis_type input output timeout]]

---Known keys by the place of the object; "[]" is any item, "*" any key.
---@type table<string, table<string, boolean>>
M.KNOWN = {
  ["sequential_config"] = set "phases",
  ["sequential_config.phases[]"] = PHASE,
  ["phases[]"] = PHASE,
  ["autonomous_config"] = set "state_schema actions termination_conditions machine",
  ["autonomous_config.machine"] = set "initial states transitions conditions errors",
  ["autonomous_config.machine.states[]"] = set "name description entry terminal",
  ["autonomous_config.machine.transitions[]"] = set "from action to when limit",
  ["autonomous_config.machine.conditions[]"] = set "name test",
  ["autonomous_config.machine.errors[]"] = set "class severity recovery to limit",
  ["autonomous_config.actions[]"] = ACTION,
  ["actions[]"] = ACTION,
  ["autonomous_config.state_schema"] = set "fields",
  ["x_skillrt"] = set [[note agent_decides strategy interaction_mode initial_state limits timeouts_s
    termination hybrid actions phases skills agent agents host phase_detection records]],
  ["x_skillrt.skills[]"] = set "name description tools optional prompt",
  ["x_skillrt.phase_detection"] = set [[strategy when tool_phase_map start next rules window lead fallback
    context_summary]],
  ["x_skillrt.phase_detection.context_summary"] = set "max_bytes",
  ["x_skillrt.limits"] = set(table.concat(limits.names(), " ") .. " attempts_per_action"),
  ["x_skillrt.actions.*.limits"] = set(table.concat(limits.names(true), " ")),
  ["x_skillrt.phases.*.limits"] = set(table.concat(limits.names(true), " ")),
  ["x_skillrt.timeouts_s"] = set "context_load step run",
  ["x_skillrt.termination"] = set "on_success on_error max_retries",
  ["x_skillrt.hybrid"] = set "order on_loop_failed",
  ["x_skillrt.actions.*"] = set [[terminal repeatable max_runs idempotent max_retries max_errors on_error limits
    timeout_s tool_set writes_context
    interaction]],
  ["x_skillrt.phases.*"] = set [[idempotent max_retries max_errors on_error limits timeout_s tool_set writes_context
    group]],
}

local function look(value, place, path, found, place_of)
  local known = M.KNOWN[place]
  for _, key in ipairs(known and names.sorted(value) or {}) do
    if type(key) == "string" and not known[key] and not key:find "^[xX][_-]" and key:sub(1, 1) ~= "$" then
      local near = names.nearest(key, known)
      local at = path .. "." .. key
      local what = ("%s: no such key%s"):format(at, near and (" (did you mean %s?)"):format(near) or "")
      found:add("warning", "config.unknown-key", place_of(at), { what = what, why = "nothing reads it", key = at,
        fix = "correct its name, remove it, or begin it with x_" })
    end
  end
end

local TRUTHS <const> = set "repeatable parallel idempotent agent_decides"

-- What a value must be, where it is not; "machine" may be a word.
local function unfit(value, place, key)
  local below = place == "" and key or place .. "." .. (M.KNOWN[place .. ".*"] and "*" or key)
  local is_table = type(value) == "table"
  local is_list = is_table and (json.is_array(value) or #value > 0)
  if value == json.null or key == "machine" then
    return nil
  elseif (M.KNOWN[below] or M.KNOWN[below .. ".*"]) and (not is_table or is_list and #value > 0) then
    return "an object"
  elseif M.KNOWN[below .. "[]"] and not (is_list or is_table and next(value) == nil) then
    return "a list"
  elseif M.KNOWN[place] and TRUTHS[key] and type(value) ~= "boolean" then
    return "true or false"
  end
end

local function look_at_types(value, place, path, found, place_of)
  for _, key in ipairs(names.sorted(value)) do
    local wanted = type(key) == "string" and unfit(value[key], place, key)
    if wanted then
      local at = path == "" and key or path .. "." .. key
      found:add("error", "config.type", place_of(at), { what = ("%s: must be %s, not %s"):format(at, wanted,
        names.show(value[key])), why = "nothing would look at it", key = at, fix = "write a value of that type" })
    end
  end
end

local function each(value, place, path, visit)
  if type(value) ~= "table" then
    return
  end
  if json.is_array(value) or #value > 0 then
    for i, item in ipairs(value) do
      each(item, place .. "[]", ("%s[%d]"):format(path, i), visit)
    end
    return
  end
  visit(value, place, path)
  for _, key in ipairs(names.sorted(value)) do
    if type(key) == "string" and type(value[key]) == "table" then
      local inside = (place == "x_skillrt.actions" or place == "x_skillrt.phases") and "*" or key
      local below = place == "" and inside or place .. "." .. inside
      each(value[key], below, path == "" and key or path .. "." .. key, visit)
    end
  end
end

---Tells every key below the top of a config that nothing reads, and values of another type than theirs.
---@param raw any  as it was decoded
---@param found skillrt.load.Findings
---@param place_of fun(key: string): { file: string, line: integer? }
function M.check(raw, found, place_of)
  each(raw, "", "", function(value, place, path)
    look(value, place, path, found, place_of)
    look_at_types(value, place, path, found, place_of)
  end)
end

return M
