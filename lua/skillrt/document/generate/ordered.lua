-- document/generate/ordered.lua: JSON for people to read: keys in the order of docs/schema, those that it does
-- not name behind them, by the alphabet.
--
-- Same value, same bytes. Called by whatever generates a document that holds JSON.
local json = require "skillrt.base.json"
local limits = require "skillrt.skill.limits"

local M = {}

-- The objects of our documents: their keys in order; `key:kind` says what lies below a key, `*:kind` what lies below
-- each key of a map.
local KINDS = {
  config = [[$schema skill_name display_name description triggers execution_mode context_strategy phase_count
    action_count llm_integration:llm sequential_config:sequential autonomous_config:autonomous actions:action
    phases:phase state_schema:state_schema termination_conditions allowed_tools mcp_tools output:output
    quality:quality specs:document templates:document created_at version x_skillrt:extension]],
  llm = "enabled default_tool fallback_chain mode",
  sequential = "phases:phase",
  autonomous = "state_schema:state_schema actions:action termination_conditions machine:machine",
  machine = "initial states:state transitions:transition conditions:condition errors:error_class",
  state = "name description entry terminal",
  transition = "from action to when limit",
  condition = "name test",
  error_class = "class severity recovery to limit",
  state_schema = "fields:field",
  field = "name type description",
  phase = [[id name order description input inputs output parallel condition agent:agent objectives max_retries
    idempotent]],
  agent = "type run_in_background tool mode fallback_chain thoroughness",
  action = [[id name description purpose preconditions effects priority repeatable max_runs max_retries terminal
    idempotent type tool:tool agent:agent mode prompt scope analysis_type input output timeout]],
  tool = "primary fallback_chain",
  output = "format location filename_pattern",
  quality = "dimensions pass_threshold",
  document = "path purpose context",
  extension = [[note strategy records agent_decides interaction_mode initial_state limits:limits timeouts_s:timeouts
    termination:termination hybrid:hybrid actions:own_actions phases:own_phases skills:tool_set agent agents
    host phase_detection:detection]],
  limits = table.concat(limits.names(), " ") .. " attempts_per_action",
  own_limits = table.concat(limits.names(true), " "),
  timeouts = "context_load step run",
  termination = "on_success on_error max_retries",
  hybrid = "order on_loop_failed",
  own_actions = "*:own_action",
  own_action = [[terminal repeatable max_runs idempotent max_retries max_errors on_error limits:own_limits
    timeout_s tool_set writes_context
    interaction]],
  own_phases = "*:own_phase",
  own_phase = "idempotent max_retries max_errors on_error limits:own_limits timeout_s tool_set writes_context group",
  detection = "strategy when tool_phase_map start next rules window lead fallback context_summary",
  tool_set = "name description tools optional prompt",
  workflow = [[$schema skill_name display_name description version execution_mode context_strategy phases_to_run
    phases:phase termination:termination loop:loop]],
  loop = "order orchestrator on_loop_failed",
}

local NONE = { rank = {}, below = {} }
local ORDERS = {}
for kind, keys in pairs(KINDS) do
  local order, count = { rank = {}, below = {} }, 0
  for key, below in keys:gmatch "([^%s:]+):?(%S*)" do
    count = count + 1
    order.rank[key], order.below[key] = count, below ~= "" and below or nil
  end
  ORDERS[kind] = order
end

local function keys_of(object, rank)
  local keys = {}
  for key in pairs(object) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    local first, second = rank[a], rank[b]
    if first and second then
      return first < second
    elseif first or second then
      return first ~= nil
    end
    return a < b
  end)
  return keys
end

local write

local function write_list(out, list, indent, kind)
  local inner = indent .. "  "
  for i, item in ipairs(list) do
    out[#out + 1] = (i == 1 and "[" or ",") .. inner
    write(out, item, inner, kind)
  end
  out[#out + 1] = #list > 0 and indent .. "]" or "[]"
end

local function write_object(out, object, indent, kind)
  local inner = indent .. "  "
  local order = ORDERS[kind] or NONE
  local keys = keys_of(object, order.rank)
  for i, key in ipairs(keys) do
    out[#out + 1] = (i == 1 and "{" or ",") .. inner .. json.encode(key) .. ": "
    write(out, object[key], inner, order.below[key] or order.below["*"])
  end
  out[#out + 1] = #keys > 0 and indent .. "}" or "{}"
end

function write(out, value, indent, kind)
  if type(value) ~= "table" then
    out[#out + 1] = assert(json.encode(value))
  elseif json.is_array(value) then
    write_list(out, value, indent, kind)
  else
    write_object(out, value, indent, kind)
  end
end

---@param value any  JSON; the keys of its objects are texts
---@param kind "config"|"workflow"|"action"|"own_action"|nil  what it is, or what the items of the list are
---@return string
function M.encode(value, kind)
  local out = {}
  write(out, value, "\n", kind)
  return table.concat(out)
end

return M
