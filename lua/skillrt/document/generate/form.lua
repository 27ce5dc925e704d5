-- document/generate/form.lua: the one table of what a skill-config.json and a workflow.json may hold: the keys of each
-- object in the order in which they are written, with the types of their values; and the one check of a config by it.
--
-- Knows types and nothing of what a config means. docs/schema says the same for editors; specs compare the two.
-- Called by config, ordered and document/load/workflow.lua.
local json = require "skillrt.base.json"
local fields = require "skillrt.document.generate.fields"
local limits = require "skillrt.skill.limits"
local names = require "skillrt.base.names"

local M = {}

-- `key:type`. A type is a kind of value, or of object from this table; `type[]` is a list of these, `type{}` a map to
-- these; `~type` may be a text instead; `one|other` are words to choose from. With "!" the key is required, with "+" it
-- is made where it is missing, behind "=" stands what it is then. A label is a text that says something.
local FORMS = {
  config = [[$schema skill_name:name! display_name:text description:about! triggers:text[]+
    execution_mode:sequential|autonomous|hybrid context_strategy:file|memory="file" phase_count action_count
    llm_integration:llm sequential_config:sequential autonomous_config:autonomous actions:action[] phases:phase[]
    state_schema:state_schema termination_conditions:text[]
    allowed_tools:text[]=["Task","Read","Write","Glob","Grep","Bash"] mcp_tools:text[]+ output:output+ quality:quality+
    specs:~document[]+ templates:~document[]+ created_at version:text="1.0.0" x_skillrt:extension+]],
  llm = "enabled:truth default_tool fallback_chain:text[] mode",
  sequential = "phases:phase[]+",
  autonomous = [[state_schema:state_schema+ actions:action[]+
    termination_conditions:text[]=["user_exit","error_limit","task_completed"] machine:machine]],
  machine = "initial:text! states:state[]+ transitions:transition[]+ conditions:condition[]+ errors:error_class[]+",
  state = "name:text! description:text entry:text terminal",
  transition = "from:text! action:text! to:text! when:text limit:count",
  condition = "name:text! test:text!",
  error_class = "class:text! severity:text recovery:text to:text! limit:count",
  state_schema = "fields:field[]+",
  field = [[name:text! type:label="object" description:text=""]],
  phase = [[id:id! name:label description:text input:text[] output:path parallel:truth condition:text agent:~agent
    objectives:text[]+]],
  agent = "type:text run_in_background tool mode fallback_chain:text[] thoroughness",
  action = [[id:id! name:label description:text purpose:text preconditions:text[]+ effects:text[]+ priority:rank=0
    repeatable:truth max_runs type tool:~tool agent:~agent mode prompt scope analysis_type input output timeout]],
  entry = [[id name description purpose preconditions effects priority repeatable max_runs max_retries terminal
    idempotent type tool:tool agent:agent mode prompt scope analysis_type input output timeout]],
  tool = "primary fallback_chain:text[]",
  output = [[format:text="markdown" location:text filename_pattern:text]],
  quality = "dimensions:text[]+ pass_threshold:number=80",
  document = "path:path! purpose:text context:text",
  extension = [[note strategy records agent_decides:truth interaction_mode initial_state:object limits:limits
    timeouts_s:timeouts termination:termination hybrid:hybrid actions:own_action{} phases:own_phase{} skills:tool_set[]
    agent agents:object host:object phase_detection:detection]],
  limits = "attempts_per_action:number",
  own_limits = "",
  timeouts = "context_load step run",
  termination = "on_success:text on_error:text max_retries:number",
  hybrid = "order:text[] on_loop_failed:stop|run_finalize",
  own_action = [[terminal repeatable:truth max_runs idempotent:truth max_retries max_errors on_error limits:own_limits
    timeout_s tool_set:text writes_context interaction]],
  own_phase = [[idempotent:truth max_retries max_errors on_error limits:own_limits timeout_s tool_set:text
    writes_context group]],
  detection = "strategy tool_phase_map start next rules window lead fallback context_summary:summary",
  summary = "max_bytes",
  tool_set = "name description tools optional bind prompt",
  workflow = [[$schema skill_name display_name description version execution_mode context_strategy phases_to_run
    phases:workflow_phase[] termination:termination loop:loop]],
  workflow_phase = [[id name order description input inputs output parallel condition agent:agent objectives max_retries
    idempotent]],
  loop = "order orchestrator on_loop_failed",
}

-- The limits of runs and of actions are rows of skill/limit/.
for kind, of_action in pairs { limits = false, own_limits = true } do
  local rows = {}
  for i, name in ipairs(limits.names(of_action)) do
    local of = limits.of[name]
    rows[i] = name .. (of.map and ":number{}" or ":number")
  end
  FORMS[kind] = table.concat(rows, " ") .. " " .. FORMS[kind]
end

---@class skillrt.generate.Row  a key of an object
---@field key string
---@field type string       a leaf or an object; "" for anything
---@field many "["|"{"|""   a list or a map of them
---@field text boolean      may be a text instead
---@field mark "!"|"+"|""
---@field default string    as JSON; "": none
---@field choices table<string, boolean>?

---@type table<string, { [integer]: skillrt.generate.Row, rank: table<string, integer> }>
M.OBJECTS = {}
for kind, keys in pairs(FORMS) do
  local object = { rank = {} }
  for key, text, of, many, mark, default in keys:gmatch "([^%s:]+):?(~?)([%w_|]*)([%[{]?)[%]}]?([!+]?)=?(%S*)" do
    local row = { key = key, type = of, many = many, text = text ~= "", mark = mark, default = default }
    for word in (of:find "|" and of or ""):gmatch "[^|]+" do
      row.choices = row.choices or {}
      row.choices[word] = true
    end
    object[#object + 1], object.rank[key] = row, #object + 1
  end
  M.OBJECTS[kind] = object
end

local function leaf(wanted, test)
  return function(value)
    return not test(value) and ("must be %s, not %s"):format(wanted, fields.show(value)), "type"
  end
end

local function is_text(value)
  return type(value) == "string"
end

local function is_object(value)
  return type(value) == "table" and not json.is_array(value)
end

-- Why a value is none of its type, and the code of that.
local LEAVES = {
  text = leaf("a text", is_text),
  label = leaf("a text", is_text),
  truth = leaf("true or false", function(value) return type(value) == "boolean" end),
  number = leaf("a number from 0 on", function(value)
    return type(value) == "number" and value >= 0 and value < math.huge
  end),
  count = leaf("a whole number from 1 on", function(value) return math.type(value) == "integer" and value > 0 end),
  rank = leaf("a number", function(value) return type(value) == "number" and value == value end),
  object = leaf("an object", is_object),
  id = fields.id,
  path = fields.path,
  name = fields.name,
  about = fields.about,
}

local Check = {}
Check.__index = Check

-- What a key is asked for where it is missing.
local GIVE <const> = { id = "an id", path = "a path", name = 'a name such as "code-reviewer"' }

function Check:value(row, value, at, many)
  if many == "[" then
    return self:list(row, value, at)
  elseif row.choices then
    return not row.choices[value] and self.found:error("choice", at, "must be one of %s, not %s%s",
      table.concat(names.sorted(row.choices), ", "), fields.show(value),
      type(value) == "string" and names.meant(value, row.choices) or "")
  elseif row.text and type(value) == "string" then
    return
  elseif (row.mark == "!" or row.type == "label") and type(value) == "string" and not value:find "%S" then
    return self.found:error("missing", at, "is empty: give %s", GIVE[row.type] or "a text")
  end
  local object = M.OBJECTS[row.type]
  local problem, code = (many ~= "{" and LEAVES[row.type] or LEAVES.object)(value)
  if problem then
    self.found:error(code, at, "%s", problem)
  elseif many == "{" then
    for _, key in ipairs(names.sorted(value)) do
      self:value(row, value[key], ("%s.%s"):format(at, key), "")
    end
  elseif object then
    self:object(row.type, value, at .. ".")
  end
end

function Check:list(row, list, at)
  if not json.is_array(list) then
    return self.found:error("type", at, "must be a list, not %s", fields.show(list))
  end
  for i, item in ipairs(list) do
    self:value(row, item, ("%s[%d]"):format(at, i), "")
  end
end

-- What a value is checked as: a text alone is a list of one, and an object without keys an empty list, as Lua's {} has
-- no kind, and writers without lists have no other way to say it.
local function as_list(row, value)
  if row.type == "text" and type(value) == "string" then
    return json.array { value }
  end
  return type(value) == "table" and next(value) == nil and json.array {} or value
end

function Check:object(kind, object, where)
  local rows = M.OBJECTS[kind]
  for _, key in ipairs(M.unknown(object, kind)) do
    self.found:warn("unknown-key", where .. key, "no such key%s", self.meant(key, kind))
  end
  for _, row in ipairs(rows) do
    local value = object[row.key]
    if value == nil and (row.mark == "+" or row.default ~= "") then
      value = row.default ~= "" and json.decode(row.default) or row.many == "[" and json.array {} or {}
      object[row.key] = value
    elseif value ~= nil and row.many == "[" then
      value = as_list(row, value)
      object[row.key] = value
    end
    if value == nil and row.mark == "!" then
      self.found:error("missing", where .. row.key, "is missing: give %s", GIVE[row.type] or "a text")
    elseif value ~= nil and row.type ~= "" then
      self:value(row, value, where .. row.key, row.many)
    end
  end
end

---The keys of an object that none of its kind has, sorted; those that begin with x_ or $ are their author's.
---@param object table
---@param kind string
---@return string[]
function M.unknown(object, kind)
  local out, rank = {}, M.OBJECTS[kind].rank
  for _, key in ipairs(names.sorted(object)) do
    out[#out + 1] = not rank[key] and not key:find "^[xX][_-]" and not key:find "^%$" and key or nil
  end
  return out
end

---Checks an object of a kind, makes what is missing of it, and names every key that nothing reads.
---@param kind string
---@param object table  is changed
---@param where string  its place: "", or a key and a dot
---@param found skillrt.Findings
---@param meant fun(key: string, kind: string): string  what to say behind an unknown key
function M.check(kind, object, where, found, meant)
  setmetatable({ found = found, meant = meant }, Check):object(kind, object, where)
end

return M
