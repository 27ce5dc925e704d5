-- skill/action.lua: one action or phase in its normal form.
--
-- Checks what a person wrote, fills the defaults, compiles conditions and effects. Knows nothing of runs, agents'
-- protocols or strategies; when.lua decides whether one may run now.

local expr = require("skillrt.expr")
local limits = require("skillrt.skill.limits")
local protocol = require("skillrt.skill.protocol")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local ends = require("skillrt.skill.ends")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.Action  an action, or a phase (with inputs, parallel)
---@field kind "action"|"phase"
---@field id string
---@field index integer        place in the declaration, from 1
---@field name string
---@field description string?
---@field purpose string?
---@field priority number
---@field cost number?         its cost in a plan; nil: 1
---@field when (skillrt.Condition|fun(state: table): boolean)[]  conditions that must all be true
---@field reads string[]?      the state keys the conditions read, sorted; nil: unknown (a function)
---@field effects skillrt.Effect[]
---@field run function?
---@field takes_ctx boolean?   whether run has a second parameter
---@field agent string?        a name in the skill's agents; if the action named a skill, one made from it
---@field prompt string?       a path below the skill's folder; with a blank or line break, the text itself
---@field tools string[]?
---@field tool_set string?    the set that is active while it is performed
---@field keeps table?        state fields that the runtime writes for it: skill/tool_sets.lua
---@field max_runs number      how often it may complete; math.huge: no limit
---@field repeatable boolean?  the loop may choose it again although it failed and one of its calls may have acted
---@field resumable boolean?   its results are kept when it has finished: a run that ended performs it again with them
---@field idempotent boolean   whether a call with an unknown outcome may be repeated
---@field checkpoint string?     when it completes, the run can be rolled back to this name
---@field idempotent_declared boolean?  what the author said about it, if anything
---@field terminal "completed"|"failed"|"aborted"|nil  the run ends with this status after it
---@field timeout number?      seconds
---@field max_retries integer?
---@field on_error skillrt.OnError?
---@field max_errors integer?  how often it may fail before on_error applies
---@field handles boolean?     it runs only where another one failed
---@field limits table?        its own, see skill/limits.lua
---@field output string?       a path below the work dir
---@field writes_context string[]?
---@field optional boolean?    actions: the run may complete without it
---@field input string[]?      phases: outputs of earlier phases
---@field input_declared boolean?  phases: named by the author, not taken from the previous phase
---@field answer "step"|"text"|nil  phases: "text": its agent's last words are its output, as of a plain SKILL.md
---@field output_free boolean?  phases: no output is required; the default if none is named
---@field parallel boolean?    phases: runs at the same time as its parallel neighbours
---@field trailing boolean?    phases of a hybrid skill: runs after the actions
---@field x any                untouched

local COMMON = {
  id = { type = "id", required = true },
  name = { type = "text" },
  description = { type = "string" },
  purpose = { type = "string" },
  when = {},
  effects = { type = "text", list = true, default = {} },
  run = { type = "function" },
  agent = { type = { "id", "table" } },
  skill = {},
  prompt = { type = "text" },
  tools = { type = "text", list = true },
  tool_set = { type = "text" }, keeps = { type = "table" },
  idempotent = { type = "boolean" },
  checkpoint = { type = { "boolean", "text" } },
  timeout = { type = "seconds" },
  max_retries = { type = "count" },
  limits = { type = "table" },
  on_error = { type = "text" },
  max_errors = { type = "positive" },
  output = { type = "path" },
  each = { type = { "string", "function", "table" } },
  writes_context = { type = "text", list = true },
  x = {},
}

local function with(more)
  local fields = {}
  for _, list in ipairs({ COMMON, protocol.FIELDS, more }) do
    tables.fill(fields, list)
  end
  return fields
end

local ACTION = with({
  priority = { type = "number", default = 0 },
  cost = { type = "amount" },
  max_runs = { type = "positive" },
  repeatable = { type = "boolean" },
  resumable = { type = "boolean" },
  terminal = {},
  optional = { type = "boolean" },
})

-- How an action declares that it is performed for each item of a list.
local EACH = {
  items = { type = { "string", "function" }, required = true },
  as = { type = "text" },
  max_parallel = { type = "positive" },
  on_error = { enum = { "finish", "stop" } },
  key = { type = "function" },
}

local PHASE = with({
  input = { type = "text", list = true },
  output_free = { type = "boolean" },
  answer = { enum = { "step", "text" } },
  parallel = { type = "boolean", default = false },
  trailing = { type = "boolean" },
  objectives = { type = "text", list = true },
})

-- Names that other documents use for the same field.
local MEANT = {
  preconditions = "when",
  precondition = "when",
  condition = "when",
  inputs = "input",
  outputs = "output",
  func = "run",
  execute = "run",
  handler = "run",
  retries = "max_retries",
  parallel_group = "parallel",
}

local ENDS = { completed = true, failed = true, aborted = true }

-- An action that is a table with the metamethod __call: a compiled condition.
local function is_condition(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(meta) == "table" and meta.__call ~= nil and type(value.text) == "string"
end

-- One entry of `when`, compiled.
local function compile(value, where)
  if type(value) == "function" or is_condition(value) then
    return value
  elseif type(value) ~= "string" then
    return nil, ("%s must be a condition (a text) or a function, not %s"):format(where, names.show(value))
  end
  local condition, message = expr.compile(value)
  if not condition then
    return nil, ("%s %s"):format(where, message)
  end
  return condition
end

---Compiles conditions: a text, a function, or a list of them that must all be true.
---@param value any
---@param where string  names the field in messages
---@return table[]? when
---@return string[]|string|nil reads  sorted keys, nil if one is a function; or the message
function M.conditions(value, where)
  if value == nil then
    return {}, {}
  elseif type(value) ~= "table" or is_condition(value) then
    value = { value }
  end
  local when, keys, known = {}, {}, true
  for i = 1, #value do
    local condition, message = compile(value[i], #value > 1 and ("%s[%d]:"):format(where, i) or where .. ":")
    if not condition then
      return nil, message
    end
    when[i] = condition
    known = known and type(condition) == "table" and not condition.reads_all
    tables.fill(keys, tables.set(known and condition.reads or {}))
  end
  for key in pairs(value) do
    if math.type(key) ~= "integer" then
      return nil, ("%s: must be a text, a function or a list of them, but holds %s"):format(where, names.show(key))
    end
  end
  return when, known and names.sorted(keys) or nil
end

-- Who performs it: exactly one of run and agent; a terminal action, or a machine's, may have neither.
local function performer(action, ctx, where)
  local agents = ctx.agents
  local skill = action.skill
  if skill ~= nil then
    if action.run or action.agent then
      return where .. ': has "skill" and also "run" or "agent"; keep one of them'
    end
    local agent = { kind = "skill" }
    local plain = type(skill) == "table" and getmetatable(skill) == nil
    tables.fill(agent, plain and skill or { skill })
    action.agent, action.skill = agent, nil
  end
  local agent = action.agent
  if action.run and agent then
    return where .. ': has both "run" and "agent"; keep the one that performs it'
  elseif not action.run and not agent and not action.terminal and not ctx.machine then
    return where .. ': needs "run" (a function) or "agent" (a name from agents; with agents = { default = '
      .. 'skillrt.chosen_agent() }, "default" is the agent of --agent)'
  elseif type(agent) == "string" and not agents[agent] then
    return ('%s: agent "%s" is not declared%s'):format(where, agent, next(agents) and names.suggest(agent, agents)
      or "; skillrt.chosen_agent() is nil without --agent: name another one after it, with \"or\"")
  end
  local chosen = type(agent) == "table" and agent or agents[agent]
  action.idempotent_declared = action.idempotent
  if action.checkpoint == true then
    action.checkpoint = action.id
  end
  if action.idempotent == nil then
    action.idempotent = chosen == nil or chosen.idempotent == true
  end
  return nil
end

local function check_output(path, where)
  if names.is_taken(path) then
    return ('%s: output "%s" would replace a file of the run itself; give "output" another name'):format(where, path)
  end
  return nil
end

local function check_prompt(action, where)
  local prompt = action.prompt
  if not prompt or prompt:find("[ \n]") then
    return nil
  end
  local path, problem = names.confined(prompt)
  if not path then
    return ('%s: field "prompt" %s (a prompt is a file below the skill, or a text with blanks)'):format(
      where,
      problem
    )
  end
  action.prompt = path
  return nil
end

local function check_runs(action, definition, ctx, where)
  if definition.repeatable == false and (action.max_runs or 1) > 1 then
    return where .. ': has repeatable = false and max_runs above 1; drop one'
  end
  action.max_runs = action.max_runs or ((definition.repeatable or ctx.machine) and math.huge or 1)
  action.repeatable = definition.repeatable or nil
  local terminal = action.terminal
  if terminal == true then
    terminal = "completed"
  elseif terminal == nil then
    terminal = ends.TERMINAL[action.id]
  elseif terminal == false then
    terminal = nil
  elseif not ENDS[terminal] then
    return ('%s: field "terminal" must be true, "completed", "failed" or "aborted", not %s'):format(
      where,
      names.show(terminal)
    )
  end
  action.terminal = terminal
  return nil
end

local function check_each(action, where)
  local each, message = action.each, nil
  if each ~= nil then
    each = type(each) == "table" and each or { items = each }
    action.each, message = schema.record(each, EACH, where .. ': field "each"')
  end
  return message
end

local OWN_LIMITS = limits.fields(true)

local function check_limits(action, where)
  local message
  if action.limits then
    action.limits, message = schema.record(action.limits, OWN_LIMITS, where .. ': field "limits"')
  end
  return message
end

local function takes_ctx(run)
  local info = run and debug.getinfo(run, "u")
  return info and (info.nparams > 1 or info.isvararg)
end

local function label(kind, definition, index)
  local id = type(definition) == "table" and definition.id
  return type(id) == "string" and ("%s %s"):format(kind, names.show(id)) or ("%s %d"):format(kind, index)
end

local function common(definition, fields, index, where)
  local action, message = schema.record(definition, fields, where, MEANT)
  if not action then
    return nil, message
  end
  local reads
  action.index, action.name, action.takes_ctx = index, action.name or action.id, takes_ctx(action.run)
  action.when, reads = M.conditions(definition.when, where .. ": when")
  if not action.when then
    return nil, reads
  end
  action.reads = reads
  if #action.effects > 0 then
    action.effects, message = require("skillrt.skill.effect").list(action.effects)
  end
  if not action.effects then
    return nil, where .. ": " .. message
  end
  message = action.output and check_output(action.output, where)
    or check_prompt(action, where)
    or check_limits(action, where)
  return not message and action or nil, message
end

---@class skillrt.ActionContext
---@field where string                names the skill in messages
---@field agents table<string, table> the declared agents
---@field interaction string?          how people take part, if an action does not say
---@field machine boolean?  of mode "machine": its table limits how often; an action without run and agent only moves it

---The normal form of an action.
---@param definition table
---@param index integer
---@param ctx skillrt.ActionContext
---@return skillrt.Action?
---@return string? message
function M.new(definition, index, ctx)
  local where = ctx.where .. ": " .. label("action", definition, index)
  local action, message = common(definition, ACTION, index, where)
  if not action then
    return nil, message
  end
  action.kind = "action"
  message = check_runs(action, definition, ctx, where) or performer(action, ctx, where) or check_each(action, where)
    or protocol.check(action, ctx, where)
  return not message and action or nil, message
end

---The normal form of a phase; phase.link gives it its inputs.
---@param definition table
---@param index integer
---@param ctx skillrt.ActionContext
---@return skillrt.Action?
---@return string? message
function M.phase(definition, index, ctx)
  local where = ctx.where .. ": " .. label("phase", definition, index)
  local phase, message = common(definition, PHASE, index, where)
  if not phase then
    return nil, message
  end
  phase.kind, phase.priority, phase.max_runs = "phase", 0, 1
  if not phase.output then
    phase.output, phase.output_free = phase.id .. ".json", true -- no output is required
    message = check_output(phase.output, where)
  end
  message = message or performer(phase, ctx, where) or check_each(phase, where) or protocol.check(phase, ctx, where)
  return not message and phase or nil, message
end

return M
