-- skill/init.lua: a skill in its normal form: every field checked, every default filled, conditions compiled. A bad
-- definition raises an error with the author's line and says what to do.
--
-- Knows actions, agents and conditions; nothing of runs, files or modes. Called by
-- skillrt.skill{...} and by the loaders of configurations and folders.

local action = require("skillrt.skill.action")
local cut = require("skillrt.base.text").cut
local drawn = require("skillrt.base.drawn")
local ends = require("skillrt.skill.ends")
local expr = require("skillrt.expr")
local json = require("skillrt.base.json")
local limits = require("skillrt.skill.limits")
local merge = require("skillrt.skill.merge")
local names = require("skillrt.base.names")
local on_error = require("skillrt.skill.on_error")
local protocol = require("skillrt.skill.protocol")
require("skillrt.skill.sandbox") -- a type of fields
local schema = require("skillrt.skill.schema")
local state = require("skillrt.skill.state")
local tables = require("skillrt.base.tables")
local types = require("skillrt.skill.types")
local when = require("skillrt.skill.when")

-- A skill of functions only starts without agents.
local function check_agent(one, where)
  return require("skillrt.agent").check(one, where)
end

local M = {}

-- ---- its contexts ----

---@class skillrt.Context
---@field kind "global"|"project"|"session"
---@field name string
---@field file string?  below the skill or its library (global), or below the folder in which a run is started
---  (project); a session's has none. The folder of another skill stands for its SKILL.md
---@field library string?     the library's folder, in which a global one is searched
---@field version string?     the minimal version, with the same major number
---@field requires string[]   contexts that are loaded before it
---@field optional boolean
---@field alternative string? the file that replaces an optional one that is missing

---The kinds of contexts with files; the execution context of a single run is its state's `context`.
local KINDS = { "global", "project", "session" }
local CONTEXT_KEYS <const> = { global = true, project = true, session = true, strategy = true, libraries = true }

local ENTRY <const> = {
  name = { type = "id" },
  file = { type = "path" },
  library = { type = "id" },
  version = { type = "text" },
  requires = { type = "id", list = true, default = {} },
  optional = { type = "boolean", default = false },
  alternative = { type = "path" },
}

local STRATEGIES <const> = { context = { enum = { "file", "memory" }, default = "file" } }

-- One entry: a path, the name of a session's, or a table.
local function entry_of(given, kind, libraries, where)
  if type(given) == "string" then
    given = kind == "session" and { name = given } or { file = given }
  end
  local one, message = schema.record(given, ENTRY, where)
  if not one then
    return nil, message
  elseif kind ~= "session" and not one.file then
    return nil, where .. ": names no file"
  elseif kind == "session" and (one.file or one.alternative) then
    return nil, where .. ": a session's context has a name and no file; --session says whose it is"
  end
  one.name = one.name or one.file and one.file:match("([^/]+)$"):gsub("%.[^.]*$", "")
  local _, problem = names.id(one.name)
  if problem or not one.name then
    return nil, ("%s: its name %s"):format(where, problem or "is missing")
  end
  if one.library then
    local folder = kind == "global" and libraries[one.library]
    if type(folder) ~= "string" or folder == "" then
      return nil, kind ~= "global" and where .. ": only a global context lies in a library"
        or ("%s: libraries names no folder for %s%s"):format(where, names.show(one.library),
          names.suggest(one.library, libraries))
    end
    one.library = folder
  end
  one.kind, one.optional = kind, one.optional or kind == "session"
  return one
end

-- Adds a context and those it needs to the order; returns a message if they need each other.
local function add_context(one, by_name, order, seen, where)
  if seen[one.name] == "done" then
    return nil
  elseif seen[one.name] then
    return ("%s: context %s needs itself, by way of those it requires"):format(where, one.name)
  end
  seen[one.name] = "begun"
  for _, name in ipairs(one.requires) do
    local other = by_name[name]
    if not other then
      return ("%s: context %s requires %s, which is not declared%s"):format(where, one.name, names.show(name),
        names.suggest(name, by_name))
    end
    if not one.optional then
      other.optional = other.kind == "session" -- what a required context needs is required, too
    end
    local message = add_context(other, by_name, order, seen, where)
    if message then
      return message
    end
  end
  seen[one.name] = "done"
  order[#order + 1] = one
end

-- Required ones in the order of their dependencies, then the optional ones (R163, R164).
local function ordered(list, by_name, where)
  local order, seen = {}, {}
  for _, optional in ipairs({ false, true }) do
    for _, one in ipairs(list) do
      local message = one.optional == optional and add_context(one, by_name, order, seen, where)
      if message then
        return nil, message
      end
    end
  end
  return order
end

---Checks `context` of a skill: a word that says where state is kept, or a table of contexts; `contexts` are these.
---@param skill skillrt.Skill
---@return string? problem
local function check_contexts(skill)
  local given = skill.context
  local is_table = type(given) == "table"
  local checked, message = schema.record({ context = is_table and given.strategy or not is_table and given or nil },
    STRATEGIES, "skill")
  if not checked then
    return (message:gsub("^skill: ", ""))
  end
  skill.context = checked.context
  if not is_table then
    return nil
  end
  local list, by_name, libraries = {}, {}, given.libraries or {}
  for key in pairs(given) do
    if not CONTEXT_KEYS[key] then
      return ('field "context": there is no kind %s%s'):format(names.show(key),
        names.suggest(tostring(key), CONTEXT_KEYS))
    end
  end
  if type(libraries) ~= "table" then
    return 'field "context": libraries must be a table of folders by name, not ' .. names.show(libraries)
  end
  for _, kind in ipairs(KINDS) do
    local entries = given[kind]
    for i, entry in ipairs(type(entries) == "table" and entries[1] ~= nil and entries or { entries }) do
      local one, why = entry_of(entry, kind, libraries, ('field "context": %s %d'):format(kind, i))
      if not one then
        return why
      elseif by_name[one.name] then
        return ('field "context": two contexts are called %s'):format(one.name)
      end
      list[#list + 1], by_name[one.name] = one, one
    end
  end
  skill.contexts, message = ordered(list, by_name, 'field "context"')
  return message
end

-- ---- what ends its runs ----

---@class skillrt.Termination
---@field text string
---@field builtin string?
---@field condition (fun(state: table): boolean, string?)?
---@field status "completed"|"failed"|"aborted"|"paused"|nil
---@field reason string?

local ENDS = { "completed", "failed", "aborted", "paused" }
local MAX_REASON = 63 -- the engine keeps that much of a reason

-- A bare name that is no state field and resembles a built-in one is probably misspelt.
local function mistyped_end(text, skill)
  if not text:find("^[%a_][%w_]*$") or skill.state[text] ~= nil or (skill.schema and skill.schema[text]) then
    return nil
  end
  local near = not state.is_reserved(text) and names.nearest(text, ends.BUILTIN)
  if near and math.abs(#near - #text) <= 2 then
    return ('unknown condition "%s" (did you mean "%s"?)'):format(text, near)
  end
  return nil
end

local function short_reason(text)
  return #text <= MAX_REASON and text or cut(text, MAX_REASON - 3)
end

local function end_condition(value, skill)
  if type(value) == "function" then
    return {
      text = when.text(value),
      reason = "condition",
      condition = function(now)
        return when.test(value, now)
      end,
    }
  elseif type(value) ~= "string" then
    return nil, "must be a condition (a text) or a function, not " .. names.show(value)
  end
  if ends.is_builtin[value] then
    return { text = value, builtin = value }
  end
  local slip = mistyped_end(value, skill)
  if slip then
    return nil, slip
  end
  local condition, message = expr.compile(value)
  if not condition then
    return nil, message
  end
  return { text = value, condition = condition, reason = short_reason(value) }
end

local END_FIELDS = {
  when = { required = true },
  status = { enum = ENDS, default = "completed" },
  reason = { type = "text" },
}

-- One entry of `terminate`.
local function termination(value, skill, where)
  local table_form = type(value) == "table" and not (getmetatable(value) or {}).__call
  local given, message =
    schema.record(table_form and value or { when = value }, END_FIELDS, where, { condition = "when" })
  if not given then
    return nil, message
  elseif given.reason and #given.reason > MAX_REASON then
    return nil, ('%s: field "reason" must be at most %d bytes long'):format(where, MAX_REASON)
  end
  local out, problem = end_condition(given.when, skill)
  if not out then
    return nil, ("%s: %s"):format(where, problem)
  elseif not out.builtin then
    out.status, out.reason = given.status, given.reason or out.reason
  elseif table_form and (value.status or value.reason) then
    return nil, ('%s: "%s" has its own status and reason; leave them out'):format(where, out.builtin)
  end
  return out
end

-- What ends a run, as a list.
local function ends_of(given)
  if given == nil then
    return ends.BUILTIN
  end
  return type(given) == "table" and given.when == nil and given or { given }
end

---Gives `skill.terminate` its normal form.
---@param skill skillrt.Skill  with its state and schema
---@return string? message  what is wrong
local function check_terminate(skill)
  local list, out = ends_of(skill.terminate), {}
  for i = 1, #list do
    local one, message = termination(list[i], skill, ("terminate[%d]"):format(i))
    if not one then
      return message
    end
    out[i] = one
  end
  for key in pairs(list) do
    if math.type(key) ~= "integer" then
      return ('field "terminate" must be a list, but holds %s; write { { when = ... } }'):format(names.show(key))
    end
  end
  skill.terminate = out
  return nil
end

-- ---- the schema of the state ----

-- In a script {} is a list; JSON must know that (F70).
local function mark_lists(tree)
  for _, value in pairs(tree) do
    if type(value) == "table" then
      if next(value) == nil then
        json.array(value)
      end
      mark_lists(value)
    end
  end
end

---Marks the lists of a skill's initial state, unless the schema says otherwise, or the state came from JSON, where {}
---is an object.
---@param skill table
local function mark_state(skill)
  for key, value in pairs(skill.state) do
    local declared = skill.schema and skill.schema[key]
    local is_list = not skill.marked
    if declared and declared ~= "any" then
      is_list = types.is_list(declared)
    end
    if type(value) == "table" and next(value) == nil and is_list then
      json.array(value)
    elseif type(value) == "table" and not skill.marked then
      mark_lists(value)
    end
  end
end

local FIELD = { type = { type = "string", default = "any" }, merge = { enum = merge.WAYS } }

---`name = "string[]"` or `name = { type = "string[]", merge = "append" }`: separates types and merge rules.
---@param skill table
---@return string? problem
local function check_schema(skill)
  skill.merge = {}
  for _, name in ipairs(names.sorted(skill.schema or {})) do
    local where = ('field "schema": %s'):format(names.show(name))
    local given = skill.schema[name]
    if type(given) == "table" then
      local field, message = schema.record(given, FIELD, where)
      if not field then
        return message
      end
      skill.merge[name], given = field.merge, field.type
    end
    local declared, problem = types.check(given)
    if not declared then
      return ("%s %s"):format(where, problem)
    elseif skill.merge[name] and not merge.suits(skill.merge[name], declared) then
      return ('%s: merge = "%s" does not suit the type %s'):format(where, skill.merge[name], declared)
    end
    skill.schema[name] = declared
  end
  return nil
end

-- ---- other fields ----

local STRATEGY_FIELDS = {
  name = { type = "text" },
  description = { type = "string" },
  path = { type = "text" },
  select = { type = "function" },
  order = { enum = { "priority", "declaration" } },
  concurrent = { type = "boolean" },
  options = { type = "table" },
}

---Gives `skill.strategy` its normal form.
---@param skill skillrt.Skill
---@return string? message  what is wrong
local function check_strategy(skill)
  local given = skill.strategy
  if type(given) == "function" then
    skill.strategy = { name = "function", select = given }
    return nil
  elseif type(given) == "string" then
    if given == "" or given:find("%c") then
      return 'field "strategy" must be a name or the path of a Lua file, not ' .. names.show(given)
    end
    local is_path = given:find("/", 1, true) or given:find("%.lua$")
    local short = given:match("([^/]+)%.lua$") or given:match("([^/]+)$") or given
    skill.strategy = { name = is_path and short or given, path = is_path and given or nil }
    return nil
  end
  local strategy, message = schema.record(given, STRATEGY_FIELDS, 'field "strategy"')
  if not strategy then
    return message
  elseif not (strategy.name or strategy.path or strategy.select) then
    return 'field "strategy" must have a function `select`, a name or a path'
  end
  strategy.name = strategy.name or strategy.path and strategy.path:match("([^/]+)%.lua$") or "table"
  skill.strategy = strategy
  return nil
end

local INDOUBT = { ask = true, retry = true, skip = true, fail = true }

---@param skill table
---@return string? problem
local function check_on_indoubt(skill)
  local value = skill.on_indoubt
  if type(value) == "function" or INDOUBT[value] then
    return nil
  end
  local message = 'field "on_indoubt" must be "ask", "retry", "skip", "fail" or a function, not %s%s'
  return message:format(names.show(value), names.meant(value, INDOUBT))
end

-- One condition for all: a text if they are texts.
local function whole(conditions)
  local texts = {}
  for i, one in ipairs(conditions) do
    texts[i] = type(one) == "table" and (#conditions > 1 and "(" .. one.text .. ")" or one.text) or nil
  end
  if #texts == #conditions then
    return table.concat(texts, " && ")
  end
  return function(root)
    return when.holds({ when = conditions }, root)
  end
end

---Gives `skill.goal` its normal form, a list of conditions, and adds it to what ends the run.
---@param skill table
---@return string? problem
local function check_goal(skill)
  local conditions, message = action.conditions(skill.goal, 'field "goal"')
  if not conditions then
    return message
  elseif #conditions == 0 then
    return 'field "goal" is empty; give a condition'
  end
  local given, list = ends_of(skill.terminate), {}
  table.move(given, 1, #given, 2, list)
  list[1] = { when = whole(conditions), status = "completed", reason = "goal_reached" }
  skill.goal, skill.terminate = conditions, list
  return nil
end

---@class skillrt.Skill
---@field name string
---@field version string
---@field description string?
---@field display_name string?
---@field mode "sequential"|"autonomous"|"hybrid"|"machine"
---@field state table                the business state that a run starts with
---@field inputs table<string, skillrt.Input>?  the declared input; nil: anything
---@field schema table<string, string>?  types by field, see skill/types.lua
---@field merge table<string, string>     by field, how updates of parallel steps are merged, see skill/merge.lua
---@field marked boolean                  the lists of `state` are marked: {} is an object
---@field context "file"|"memory"
---@field durability "power"|"process"
---@field sandbox skillrt.Sandbox?   for its programs that have none of their own
---@field agents table<string, table>
---@field tools table<string, skillrt.Tool>?  what its models may use
---@field mcp table<string, skillrt.McpServer>?  servers whose tools they may use, too
---@field tool_sets skillrt.ToolSet[]?   one of these is active: skill/tool_sets.lua
---@field bind table<string, string[]>?  by a name in sets: the tools that it means
---@field switching skillrt.Switching?
---@field kept table<string, true>?      the state fields that the runtime writes by `keeps` of its steps
---@field actions skillrt.Action[]
---@field phases skillrt.Action[]
---@field rounds skillrt.Rounds[]?     repeating phases, the inner ones first
---@field machine skillrt.Machine?        of mode "machine": the transition table
---@field terminate skillrt.Termination[]
---@field strategy table             { name, select?, path?, order?, options? }, see strategy.resolve
---@field limits table
---@field retry skillrt.RetrySettings
---@field on_error "stop_and_report"|"continue"
---@field on_loop_failed "stop"|"run_finalize"
---@field on_indoubt string|function  "ask", "retry", "skip", "fail" or a function
---@field interaction "autonomous"|"interactive"|"supervised"
---@field dir string
---@field source string?             the script
---@field specs string[]?            documents below dir that are read before anything starts; pinned (F15)
---@field config string?             the file it was made from; pinned
---@field documents string[]?        other files below dir that decide what runs; pinned
---@field guide skillrt.Guide?       what its SKILL.md gives to every prompt
---@field missing string[]?          names of agents that do not exist: no run starts
---@field project string[]?          the state keys that prompts carry; nil: all
---@field loaded skillrt.Loaded?       the script's environment, where it has one of its own
---@field x any                      untouched

local FIELDS = {
  name = { type = "id", required = true },
  version = { type = "text", default = "1.0.0" },
  description = { type = "string" },
  display_name = { type = "text" },
  mode = { enum = { "sequential", "autonomous", "hybrid", "machine" } },
  state = { type = "table", default = {} },
  schema = { type = { "string", "table" }, map = true },
  marked = { type = "boolean", default = false, ours = true },
  context = { type = { "string", "table" }, default = "file" },
  durability = { enum = { "power", "process" }, default = "power" },
  sandbox = { type = "sandbox" },
  agents = { map = true, default = {} },
  tools = { map = true },
  roots = { type = "table" }, mcp = {},
  tool_sets = { type = "table", list = true }, bind = { type = "table" }, switching = { type = "table" },
  optional_tools = { type = "text", list = true },
  actions = { type = "table", list = true, default = {} },
  phases = { type = "table", list = true, default = {} },
  rounds = { type = "table", list = true },
  inputs = { type = "table", map = true },
  machine = { type = "table" }, goal = {},
  invariants = {},
  terminate = {},
  strategy = { type = { "string", "function", "table" }, default = "priority" },
  limits = { fields = limits.fields() },
  retry = { fields = { base = { type = "amount", default = 0.5 }, factor = { type = "amount", default = 2 },
    cap = { type = "amount", default = 60 }, jitter = { type = "boolean", default = true } } },
  on_error = { enum = { "stop_and_report", "continue" }, default = "stop_and_report" },
  on_loop_failed = { enum = { "stop", "run_finalize" }, default = "stop" },
  on_indoubt = { default = "ask" },
  records = { enum = { "en", "zh" } },
  specs = { type = "path", list = true },
  config = { type = "text", ours = true },
  project = { type = "text", list = true },
  dir = { type = "text" },
  source = { type = "text", ours = true },
  documents = { type = "path", list = true },
  missing = { type = "text", list = true, ours = true },
  guide = { type = "table", ours = true },
  x = {},
}

tables.fill(FIELDS, protocol.OF_SKILL)

-- Names that other documents use for the same field.
local MEANT = {
  skill_name = "name",
  execution_mode = "mode",
  context_strategy = "context",
  initial_state = "state",
  state_schema = "schema",
  termination = "terminate",
  termination_conditions = "terminate",
  interaction_mode = "interaction",
}
for _, name in ipairs(limits.names()) do
  MEANT[name] = ("limits = { %s = ... }"):format(name)
end

local function initial_state(skill)
  if json.is_array(skill.state) then
    return 'field "state" must hold names and values, not a list'
  end
  for _, key in ipairs(names.sorted(skill.state)) do
    if state.is_reserved(key) then
      return ('field "state": "%s" is written by the runtime; leave it out or choose another name'):format(key)
    end
  end
  local copy, message = schema.copy(skill.state, 'field "state": state')
  if not copy then
    return message
  end
  skill.state = copy
  mark_state(skill)
  for _, key in ipairs(names.sorted(copy)) do
    local declared = skill.schema and skill.schema[key]
    if declared and not types.fits(declared, copy[key]) then
      return ('field "state": "%s" must be %s, as the schema says, not %s'):format(key, declared,
        types.describe(copy[key]))
    end
  end
  return nil
end

local function check_agents(skill, where)
  local agents = {}
  for _, name in ipairs(names.sorted(skill.agents)) do
    local id, problem = names.id(name)
    if not id then
      return ("agent %s: its name %s"):format(names.show(name), problem)
    end
    local checked, message = check_agent(skill.agents[name], ('%s: agent "%s"'):format(where, name))
    if not checked then
      return message:sub(#where + 3)
    end
    checked.name = checked.name or name
    agents[name] = checked
  end
  skill.agents = agents
  return nil
end

-- Gives a name to an agent that is written into its action, so that all are in one place.
local function adopt_agent(skill, one, where)
  if type(one.agent) ~= "table" then
    return nil
  end
  local name = one.id .. ".agent"
  local checked, message = check_agent(one.agent, ('%s: "%s": agent'):format(where, one.id))
  if not checked then
    return message:sub(#where + 3)
  end
  checked.name = name
  skill.agents[name], one.agent = checked, name
  if one.idempotent_declared == nil then
    one.idempotent = checked.idempotent
  end
  return nil
end

local function check_steps(skill, list, make, where, seen)
  local ctx, out = { where = where, agents = skill.agents, interaction = skill.interaction }, {}
  ctx.machine = skill.mode == "machine"
  for i, definition in ipairs(list) do
    local one, message = make(definition, i, ctx)
    if not one then
      return nil, message:sub(#where + 3)
    end
    message = adopt_agent(skill, one, where)
    if message then
      return nil, message
    elseif seen[one.id] then
      return nil, ('id "%s" is declared twice; every action and phase needs its own'):format(one.id)
    end
    seen[one.id] = true
    skill.is_phased = skill.is_phased or (one.tool_set or one.keeps) and true
    out[i] = one
  end
  return out
end

local function check_mode(skill)
  local actions, phases = #skill.actions > 0, #skill.phases > 0
  local mode = skill.mode or (skill.machine and "machine") or (actions and phases and "hybrid")
    or (phases and "sequential") or "autonomous"
  if not actions and not phases then
    return "declares neither actions nor phases; a skill needs one of them"
  elseif mode == "sequential" and actions then
    return 'mode "sequential" runs phases, but actions are declared; drop them or use mode = "hybrid"'
  elseif mode == "autonomous" and phases then
    return 'mode "autonomous" runs actions, but phases are declared; drop them or use mode = "hybrid"'
  elseif mode == "hybrid" and not (actions and phases) then
    return 'mode "hybrid" needs both phases and actions'
  elseif (mode == "machine") ~= (skill.machine ~= nil) then
    return 'mode "machine" and the field "machine", its transition table, need each other'
  elseif mode == "machine" and phases then
    return 'mode "machine" runs actions, but phases are declared; make them actions'
  end
  skill.mode = mode
  return nil
end

local function check_parts(skill, where)
  local seen = {}
  local message = skill.inputs and require("skillrt.skill.inputs").check(skill)
    or check_schema(skill)
    or initial_state(skill)
    or check_agents(skill, where)
    or (skill.tools or skill.mcp ~= nil) and require("skillrt.tool").check_skill(skill, where)
    or check_mode(skill)
  if message then
    return message
  end
  skill.actions, message = check_steps(skill, skill.actions, action.new, where, seen)
  if message then
    return message
  end
  skill.phases, message = check_steps(skill, skill.phases, action.phase, where, seen)
  if message then
    return message
  end
  if #skill.phases > 0 then
    local linked
    linked, message = require("skillrt.skill.phase").link(skill.phases, where)
    if not linked then
      return message:sub(#where + 3)
    end
  end
  message = skill.rounds and require("skillrt.skill.rounds").check(skill) or nil
  message = message or skill.machine and require("skillrt.skill.machine_skill").check(skill, where)
  message = message or skill.goal ~= nil and check_goal(skill) or nil
  message = message or skill.invariants ~= nil and require("skillrt.skill.invariant").check(skill) or nil
  message = message or (skill.tool_sets or skill.bind or skill.switching or skill.optional_tools or skill.is_phased)
    and require("skillrt.skill.tool_sets").check(skill) or nil
  return message or on_error.check(skill) or check_terminate(skill) or check_strategy(skill)
    or check_on_indoubt(skill)
end

---The methods of a skill, which init.lua adds.
---@type table<string, function>
M.methods = {}

local Skill = { __index = M.methods, __name = "skill" }

---@param value any
---@return boolean
function M.is(value)
  return getmetatable(value) == Skill
end

---Loads a skill from a path, for a skill that runs another one; set from outside.
---@type (fun(path: string, options: table): skillrt.Skill|nil, string?)|nil
M.open = nil

---The normal form of a definition.
---@param definition table
---@return skillrt.Skill? skill
---@return string? message
function M.check(definition)
  local name = type(definition) == "table" and definition.name
  local where = type(name) == "string" and names.id(name) or "skill"
  if M.is(definition) then
    return definition
  end
  local skill, message = schema.record(definition, FIELDS, where, MEANT)
  if not skill then
    return nil, message
  end
  protocol.times(skill)
  message = skill.notify and not skill.notify[1] and 'field "notify" is empty; name a program, or leave it out'
    or check_contexts(skill) or check_parts(skill, where)
  if message then
    return nil, ("%s: %s"):format(where, message)
  end
  skill.retry.max_retries = skill.limits.max_retries
  skill.dir = skill.dir or skill.source and skill.source:match("^(.*)/[^/]*$") or "."
  return setmetatable(skill, Skill)
end

-- Our own folder in chunk names, to tell our stack frames from the author's.
local OURS = debug.getinfo(1, "S").source:gsub("skill/init%.lua$", "")

-- The author's stack frame; nil if a tail call (`return skillrt.skill { ... }`) removed it.
local function author()
  local level = 2
  while true do
    local info = debug.getinfo(level, "Slt")
    if not info then
      return nil
    elseif info.what ~= "C" and info.source:sub(1, #OURS) ~= OURS then
      return info
    elseif info.istailcall then
      return nil
    end
    level = level + 1
  end
end

-- The script's name, taken from one of its functions if nothing better is known.
local function any_source(definition)
  if type(definition) ~= "table" then
    return nil
  end
  for _, field in ipairs({ "actions", "phases" }) do
    local list = definition[field]
    for _, one in ipairs(tables.object(list)) do
      local run = type(one) == "table" and one.run
      if type(run) == "function" then
        return debug.getinfo(run, "S").source
      end
    end
  end
end

---A constructor that knows the script's line, for a module field that is looked up each time, so that `return
---skillrt.skill { ... }`, a tail call, keeps its line.
---@param level integer  whose line: 1 the caller's, 2 that of the caller's caller
---@return fun(definition: table): skillrt.Skill
function M.at(level)
  local lost = debug.getinfo(1, "t").istailcall -- `return skill.at(2)`: the caller left no stack frame
  local info = debug.getinfo(lost and level or level + 1, "Sl")
  local ours = info and info.source:sub(1, #OURS) == OURS -- a module of ours is no script
  local named = info and not ours and info.source:sub(1, 1) == "@"
  local where = named and ("%s:%d"):format(info.source:sub(2), info.currentline)
  return function(definition)
    local skill = M.new(definition, where or nil)
    return skill
  end
end

---Makes a skill of what a script wrote; raises where it is wrong.
---@param definition table
---@param where string?  "script.lua:3", if the caller knows it better than the stack
---@return skillrt.Skill
function M.new(definition, where)
  local info = author()
  local skill, message = M.check(definition)
  local source = info and info.source or any_source(definition)
  if not skill then
    local place = info and ("%s:%d"):format(info.short_src, info.currentline)
      or where
      or (source and source:sub(1, 1) == "@" and source:sub(2))
    error(place and ("%s: %s"):format(place, message) or message, 0)
  end
  if drawn.loading and skill ~= definition then
    skill.loaded = drawn.loading
  end
  if not skill.source and (where or source) then
    skill.source = where and where:gsub(":%d+$", "") or source:sub(1, 1) == "@" and source:sub(2) or nil
    local beside = skill.source and skill.source:match("^(.*)/[^/]*$")
    if beside and skill ~= definition then -- a folder that the script names itself is searched next to it
      local given = definition.dir
      skill.dir = not given and beside or given:sub(1, 1) == "/" and given or beside .. "/" .. given
    end
  end
  return skill
end

return M
