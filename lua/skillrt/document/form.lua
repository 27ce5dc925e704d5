-- document/form.lua: the table of all keys that documents may have (skill-config.json, workflow.json, agent.yml and
-- front matter), with types, defaults and descriptions; and the check of a document against it.
--
-- Knows types and nothing of what a key means. Called by whoever reads or writes such a document; docs/schemas.lua
-- prints docs/schema/*.json from it (make schemas).
local findings = require "skillrt.document.findings"
local json = require "skillrt.base.json"
local limits = require "skillrt.skill.limits"
local names = require "skillrt.base.names"
local tables = require "skillrt.base.tables"

local M = {}

-- A kind of object, and below it its keys in the order in which they are written: `key type doc`. "*" after a kind:
-- it may have other keys, which belong to other programs. A type is a leaf or a kind; `type[]` is a list of these,
-- `type{}` a map to these; `~type` may be a text instead, which stands for the first key; `one|other` are words to
-- choose from. "!" after a key: it is required, "+": it is added if missing. "=" precedes the default. ">word": the
-- key's name where the value goes (M.taken), ">" alone: the same name. A label is a text with content; words without
-- content count as missing. An unread key belongs to a host, and its doc says what skillrt uses instead. "&":
-- includes all keys of a kind above.
local TABLE <const> = [[
config
  $schema text="urn:skillrt:schema:skill-config" The schema of this file.
  skill_name!>name name The folder's name: 3 to 30 small letters, digits and single hyphens.
  display_name> text For people; default: skill_name.
  description!> about What the skill does and when it is of use.
  triggers+ text[] Words that call the skill.
  execution_mode>mode sequential|autonomous|hybrid sequential: phases in order. autonomous: actions chosen by
    conditions. hybrid: phases, then the loop of actions, then phases. Default: what its parts say.
  context_strategy>context file|memory="file" file: survives a crash. memory: fast, nothing is kept.
  llm_integration llm The agent of all phases that name none is a model.
  sequential_config sequential The phases.
  autonomous_config autonomous The loop of actions.
  actions action[] Older place of autonomous_config.actions; it is taken from here with a warning.
  phases phase[] Older place of sequential_config.phases.
  state_schema state_schema Older place of autonomous_config.state_schema.
  termination_conditions text[] Older place of autonomous_config.termination_conditions.
  allowed_tools text[]=["Task","Read","Write","Glob","Grep","Bash"] Tools that the skill's agents may use.
  mcp_tools+ text[] Tools of MCP servers.
  output+ output Where results go.
  quality+ quality What a result is judged by.
  specs+ ~document[] Documents that must be read before anything else (Phase 0); no run starts without them.
  templates+ ~document[] Documents that outputs are made from.
  created_at any When it was written.
  version> text="1.0.0" The skill's version.
  x_skillrt+ extension What skillrt understands beyond the common keys; other readers ignore it.
llm
  enabled truth Whether a model performs phases.
  default_tool text The model's tool.
  fallback_chain text[] Tools that are asked, in order, where the first one fails.
  mode text What the model may do: analysis or write.
sequential
  phases+ phase[] In their order.
autonomous
  state_schema+ state_schema The fields of the state.
  actions+ action[] What may be chosen.
  termination_conditions text[]=["user_exit","error_limit","task_completed"] What ends the loop: user_exit,
    error_limit, task_completed, max_iterations, or a condition on the state.
  machine machine A state machine as one transition table; "standard" is that of docs/write/generate.md. The conditions
    and effects of its actions follow from it.
machine
  initial! text The state that a run begins in.
  states+ state[] All of them.
  transitions+ transition[] The rows of one state are asked in their order.
  conditions+ condition[] Conditions by name, for transitions.
  errors+ error_class[] Where errors lead, by their class.
state
  name!> text How it is called.
  description> text What it means.
  entry> text When a run comes into it.
  terminal> any The run ends in it.
transition
  from!> text The state that is left.
  action!> text What is done.
  to!> text The state that it leads to.
  when> text A condition, or the name of one in conditions, or "!" and a name.
  limit>max_runs count How often it may be taken.
condition
  name! text How transitions call it.
  test! text A condition on the state.
error_class
  class!> text The class that a failed reply names.
  severity text How bad it is.
  recovery text What is done about it.
  to!> text The state that it leads to.
  limit>max_runs count How often it may lead there.
state_schema
  fields+ field[] The keys of the state.
field
  name! key A key of the state.
  type label="object" A type of TypeScript: string, number, boolean, T[], T | null, ...
  description words What it holds.
phase
  id!> id Names phases/<id>.md; the order is that of the list.
  name> label For people; default: the id.
  description> words What the phase does.
  input> text[] Outputs of earlier phases that it reads, or their ids; default: what the phase before it makes.
  output> path The file it makes in the work directory; default: <id>.json.
  parallel> truth Runs at once with its neighbours that say so too.
  condition>when words A condition on the state, as in `files.length > 0 && !reviewed` (docs/reference/conditions.md).
  agent ~agent Its agent: a type that the host knows, or a model (type "llm").
  objectives+> text[] What has to come out.
agent
  type label The agent's type, default universal-executor; "llm" asks the model named by `tool`.
  run_in_background any For hosts.
  tool text Type llm: the model's tool.
  mode any Type llm: what the model may do, analysis or write.
  fallback_chain text[] Type llm: tools that are asked, in order, where the first one fails.
  thoroughness any For hosts.
action
  id!> id Names phases/actions/<id>.md.
  name> label For people; default: the id.
  description> words What the action does.
  purpose> words Why it is there.
  preconditions+>when label[] Conditions on the state (docs/reference/conditions.md); all must hold for the action to
    run.
  effects+> label[] What holds after the action: k=v, k!=null, k.length>0, k++, k--, k or !k.
  priority> rank=0 The highest of those that can run is chosen.
  repeatable truth May run as often as its preconditions hold.
  max_runs> any How often it may run; default 1.
  type any "llm" or "code-analysis"; more keys then say how.
  tool ~tool Type llm: the model's tool and those to fall back on.
  agent ~agent Its agent: a type that the host knows, or a model (type "llm").
  mode any Type llm: analysis or write.
  prompt any For hosts.
  scope any For hosts.
  analysis_type any For hosts.
  input any Type llm: what it reads.
  output any For hosts.
  timeout any In milliseconds.
tool
  primary text The model's tool.
  fallback_chain text[] Those that are asked where it fails.
output
  format text="markdown" As in markdown, html, json.
  location text The folder of results.
  filename_pattern text As in {name}-output.{ext}.
quality
  dimensions+ text[] What is judged.
  pass_threshold number=80 From which score a result passes.
document
  path! path A path below the skill's folder; never absolute, never with "..".
  purpose text What it is for.
  context text When it is read.
extension
  note any For people.
  strategy any priority, sequential, state_driven, user_driven, or the path of a strategy in Lua.
  records any The language of execution-record.md and error-report.md, which are written at the end of a run: en or
    zh.
  interaction_mode any autonomous, interactive or supervised.
  initial_state object First values of the state; before the defaults of the types.
  limits limits Limits of a run.
  timeouts_s timeouts Seconds.
  termination termination What follows success and errors.
  hybrid hybrid Where the loop of a hybrid skill runs.
  actions own_action{} More about an action, by its id.
  phases own_phase{} More about a phase, by its id.
  skills tool_set[] Tool sets; an empty list of tools means all of them.
  agent any The agent for all steps that name none, as --agent takes it: a word such as claude, an address, a
    program; or an agent as in Lua. --agent and SKILLRT_AGENT win.
  agents object Agents by type or tool, as in Lua; "*" for all others.
  sandbox any The sandbox of its programs (docs/run/sandbox.md): strict, work, off, or an object with grants.
  host object Names of the host: task_tool.
  phase_detection detection How a run goes from tool set to tool set.
limits
  attempts_per_action number Attempts of a step, the first one too.
own_limits
timeouts
  context_load> any Of loading contexts.
  step> any Of one exchange of a step.
  run> any Of the whole run.
termination
  on_success text For hosts.
  on_error text stop_and_report or continue.
  max_retries number Further attempts of a step that failed.
hybrid
  order text[] All phases in their order, with @autonomous where the loop runs.
  on_loop_failed stop|run_finalize Whether the phases behind a failed loop run.
own_action
  terminal> any The run ends after it: completed, failed, aborted, true or false.
  repeatable truth May run as often as its preconditions hold.
  max_runs> any How often it may run; default 1.
  idempotent> truth May be sent again after a crash.
  max_retries> any Further attempts.
  max_errors> any How often it may fail before on_error counts.
  on_error> any fail, skip, continue, or the id of the action that runs next.
  limits> own_limits Limits of this action alone.
  timeout_s>timeout any Seconds of one exchange.
  tool_set> text The tool set that is active.
  writes_context> any Keys of the context that it writes.
  interaction any Who takes part.
own_phase
  idempotent> truth May be sent again after a crash.
  max_retries> any Further attempts.
  max_errors> any How often it may fail before on_error counts.
  on_error> any fail, skip, continue, or the id of a later phase that runs next.
  limits> own_limits Limits of this phase alone.
  timeout_s>timeout any Seconds of one exchange.
  tool_set> text The tool set that is active.
  writes_context> any Keys of the context that it writes.
  group any Neighbours of one group run at once.
detection
  strategy any orchestrator, self_report, explicit or tool_calls.
  tool_phase_map>map any By tool: the set that a call of it speaks for.
  start> any The set that a run begins with.
  next> any By set: what may follow it.
  rules> any By set: when its phase has finished, in words.
  window> any How many calls are looked at.
  lead> any How many more of them must speak for another set.
  fallback> any The set that a call to an absent tool leads to.
  context_summary summary What prompts say of earlier phases.
summary
  max_bytes any Its length at most.
tool_set*
  name!> id How it is called.
  description> text What it does and when it is of use.
  tools> text[] The tools it may use; an empty list stands for all.
  optional> text[] Of its tools: what may be missing.
  bind> object By a name in it: a built-in tool, or a list of them.
  prompt> text What is said besides while it is active.
workflow
  $schema text="urn:skillrt:schema:workflow" The schema of this file.
  skill_name> skill_name The skill's name, as in SKILL.md.
  display_name> text For people.
  description> text What the skill does and when it is of use.
  version> text The skill's version, default 1.0.0.
  execution_mode> sequential|hybrid Default: sequential.
  context_strategy> file|memory Default: file.
  phases_to_run text[] Ids of the phases that run, in their order; default: all.
  phases! workflow_phase[] The phases; none where it says what `skillrt compile` made of actions.
  actions compiled_action{} What `skillrt compile` made of preconditions in prose, by the action's id.
  rounds+ round[] Neighbouring phases that repeat.
  inputs choice{} What a run may be given, by name; conditions read it as input.NAME.
  compiled compiled What `skillrt compile` made the document of.
  termination termination What follows success and errors.
  loop loop Hybrid: where the loop of actions runs.
workflow_phase
  id!> id Names phases/<id>.md.
  name> label For people; default: the id.
  order any Its place, from 1; the list's order is what counts.
  description> words What the phase does.
  input text[] The last of its inputs.
  inputs text[] All of its inputs: outputs of earlier phases.
  output> path The file it makes in the work directory; default: <id>.json.
  parallel> truth Runs at once with its neighbours that say so too.
  condition> words A condition on the state (docs/reference/conditions.md).
  effects label[] What its agent is asked to set in the state: k=v, k!=null, k.length>0, k++, k--, k or !k.
  each key The key of a list in the state: the phase runs for each item.
  question text A person is asked this instead of an agent; the answer is its output: `outputs['ID'] === 'yes'`.
  options text[] What the person chooses among; default: any text.
  skill text Another skill that performs it in a run of its own, by its path from this folder, as in ../other.
  agent> ~agent Its agent: a type that the host knows, or a model (type "llm").
  objectives> text[] What has to come out.
  max_retries any How often a failed attempt is repeated; default: that of termination.
  idempotent truth May be done again after a crash.
round
  first! text The phase that a round begins with.
  last text The phase that ends it; default: first.
  until words Checked before each round: when it holds, there is no other one.
  while words Checked after each round: there is another one as long as it holds.
  at_most count How many rounds there are at most.
choice
  one_of! text[] The words to choose from.
  default text For people: which one runs where none is given. Without a default such a run asks.
  question label What a person is asked then.
compiled_action
  preconditions! text[] Conditions on the state, in place of those of its documents.
  effects label[] What it is asked to set in the state, besides what its documents say.
compiled
  sources! object SHA-256 of the documents that were read, by path.
  statements! any What each line that no reader understood means for the run, with its place.
loop
  order text[] All phases in their order, with @autonomous where the loop runs.
  orchestrator text The document of the loop.
  on_loop_failed stop|run_finalize Whether the phases behind a failed loop run.
entry
  id any
  name any
  description any
  purpose any
  preconditions any
  effects any
  priority any
  repeatable any
  max_runs any
  max_retries any
  terminal any
  idempotent any
  type any
  tool tool
  agent agent
  mode any
  prompt any
  scope any
  analysis_type any
  input any
  output any
  timeout any
agent_yml*
  name text How it is called.
  description text What it does and when it is of use.
  llm unread --agent chooses the agent; an API key belongs in the environment: ${env:NAME}.
  workflow settings Limits of the flow.
  sandbox any The sandbox of its programs: strict, work, off, or an object with grants.
  skills! tool_set[] Tool sets; each is a step.
  bind object By a name in tool sets: a built-in tool, or a list of them.
  optional_tools text[] Names in tool sets that may be missing.
  switching switching How a run goes from set to set.
settings*
  max-retries whole How often repair and verification alternate at most.
  max-stale-iterations count Steps without progress until the run stops.
  interactive truth Whether people take part.
switching*
  by> orchestrator|report|rules|calls Who switches.
  start> text The set that a run begins with.
  next> object By set: what may follow it.
  rules> object By set: when its phase has finished, in words.
  map> object By tool: the set that a call of it speaks for.
  window> count How many calls are looked at.
  lead> count How many more of them must speak for another set.
  fallback> text The set that a call to an absent tool leads to.
  summary> whole Most bytes that prompts say of earlier phases.
  order text[] The sets that are steps, in their order.
  verify text The set that verifies.
  repair text The set that repairs.
host_keys*
  sandbox any The sandbox of its programs: strict, work, off, or an object with grants.
  effort text How much its model thinks, where its agent has that.
  hooks unread They are the host's; skillrt runs none.
  disallowed-tools unread allowed-tools says what it may use.
  version any For hosts.
  argument-hint any For hosts.
  arguments any The names of the words of the task: placeholders `$name` of the page.
  color any For hosts.
  user-invocable any For hosts.
  disable-model-invocation any For hosts.
  author any For hosts.
  tags any For hosts.
  triggers any For hosts.
  category any For hosts.
  when_to_use any For hosts.
  paths any For hosts.
  shell unread sh runs the commands of a page.
skill_md*
  name! skill_name How hosts find it; its folder has the same name.
  description! description What it does and when it is of use.
  license label The licence, or the file that holds it.
  compatibility compatibility What it needs: hosts, programs, network.
  metadata object Texts by name, for whoever reads them.
  allowed-tools tools The tools it may use: a list, or a text such as `Read, Bash(git:*)`.
  model text The model that performs it; one that --agent names wins.
  agent unread --agent chooses the agent.
  context unread A run is a process of its own anyway.
  tools unread allowed-tools says what it may use.
  & host_keys
command*
  name text How it is called.
  description text What it does.
  allowed-tools tools The tools it may use.
  model text The model that performs it; one that --agent names wins.
  agent unread --agent chooses the agent.
  context unread A run is a process of its own anyway.
  & host_keys
agent_md*
  name! text How it is called.
  description text What it does and when it is of use.
  tools tools The tools it may use.
  model text The model that performs it; one that --agent names wins.
  context unread A run is a process of its own anyway.
  disallowedTools unread tools says what it may use.
  permissionMode unread permission of the agent says it (docs/write/agents.md).
  maxTurns unread --limit calls=N limits a run.
  skills unread The page says which files to read.
  mcpServers unread .mcp.json next to a SKILL.md names servers.
  memory unread A run keeps its own state.
  background unread A run is a process of its own anyway.
  isolation unread Start the run in a worktree.
  initialPrompt unread The task stands behind --.
  & host_keys
]]

---@class skillrt.Key  a key of an object
---@field key string
---@field type string       a leaf or a kind; "any"
---@field many "["|"{"|""   a list or a map of them
---@field text boolean      may be a text instead
---@field mark "!"|"+"|""
---@field default string    as JSON; "": none
---@field choices table<string, boolean>?
---@field doc string
---@field as string?        its name where an object of this kind goes

---@type table<string, { [integer]: skillrt.Key, rank: table<string, integer>, is_open: boolean }>
M.KINDS = {}

local last

local function add(row)
  assert(row.key and not last.rank[row.key], row.key)
  last[#last + 1], last.rank[row.key] = row, #last + 1
end

for line in TABLE:gsub("\n    ", " "):gmatch "[^\n]+" do
  local kind, open = line:match "^([%w_]+)(%*?)$"
  local group = line:match "^  & ([%w_]+)$"
  if kind then
    last = { rank = {}, is_open = open ~= "" }
    M.KINDS[kind] = last
  elseif group then
    for _, row in ipairs(M.KINDS[group]) do
      add(row)
    end
  else
    local key, mark, goes, as, text, of, many, default, doc =
      line:match "^  ([%w_$-]+)([!+]?)(>?)([%w_]*) (~?)([%w_|]*)([%[{]?)[%]}]?=?(%S*) ?(.*)$"
    local row = { key = key, type = of, many = many, text = text ~= "", mark = mark, default = default, doc = doc,
      as = as ~= "" and as or goes ~= "" and key or nil }
    for word in (of:find "|" and of or ""):gmatch "[^|]+" do
      row.choices = row.choices or {}
      row.choices[word] = true
    end
    add(row)
  end
end

-- The limits of runs and of actions are rows of skill/limit/, and come before all others.
for kind, of_action in pairs { limits = false, own_limits = true } do
  local object, list = M.KINDS[kind], limits.names(of_action)
  for i, name in ipairs(list) do
    table.insert(object, i, { key = name, type = "number", many = limits.of[name].map and "{" or "", mark = "",
      default = "", limit = limits.of[name] })
  end
  for i, row in ipairs(object) do
    object.rank[row.key] = i
  end
end

local MAX_ABOUT <const> = 1024 -- bytes of a config's description; characters of one in a front matter

---A value as messages show it.
---@param value any
---@return string
function M.show(value)
  if value == json.null then
    return "null"
  end
  return type(value) == "table" and (json.is_array(value) and "a list" or "an object") or names.show(value)
end

local function leaf(wanted, test)
  return function(value)
    return not test(value) and ("must be %s, not %s"):format(wanted, M.show(value)) or nil
  end
end

local function is_text(value)
  return type(value) == "string"
end

-- Why a value is no path that stays below its folder (F13), and that a document can name.
local function path_problem(path)
  local confined, problem = names.confined(path)
  if problem then
    return problem
  elseif path:find "[\\`\"'$<>|*?:]" then
    return "holds a character that files cannot have everywhere (\\ ` \" ' $ < > | * ? :): " .. M.show(path)
  end
  return path ~= confined and ("must be written as %s, not %s"):format(confined, M.show(path)) or nil
end

-- A skill's name; it begins with a letter in a config, and has only single hyphens inside.
local function name_problem(pattern, least, most)
  return function(name)
    local dashed = "-" .. M.show(name):sub(2, -2) .. "-"
    if type(name) ~= "string" or not name:find(pattern) or dashed:find("--", 1, true) then
      return ("must be lower-case letters, digits and single hyphens between them, not %s"):format(M.show(name))
    end
    return (#name < least or #name > most) and ("must have %d to %d characters, not %d"):format(least, most, #name)
  end
end

local function text_of(most, length)
  return function(text)
    if type(text) ~= "string" then
      return "must be a text, not " .. M.show(text)
    end
    local count = length(text)
    if not count then
      return "is no UTF-8"
    end
    return count > most and ("is %d long; at most %d are allowed: shorten it"):format(count, most) or nil
  end
end

-- Why a value has not the type; nil: it has.
local LEAVES = {
  any = function() end,
  unread = function() end,
  text = leaf("a text", is_text),
  label = leaf("a text", is_text),
  words = leaf("a text", is_text),
  truth = leaf("true or false", function(value) return type(value) == "boolean" end),
  number = leaf("a number of at least 0", function(value)
    return type(value) == "number" and value >= 0 and value < math.huge
  end),
  count = leaf("a whole number of at least 1", function(value) return math.type(value) == "integer" and value > 0 end),
  whole = leaf("a whole number of at least 0", function(value) return math.type(value) == "integer" and value >= 0 end),
  rank = leaf("a number", function(value) return type(value) == "number" and value == value end),
  object = leaf("an object", json.is_object),
  tools = leaf("a text or a list", function(value) return type(value) == "string" or json.is_array(value) end),
  id = function(value) return select(2, names.id(value)) end,
  path = path_problem,
  key = function(value)
    return (type(value) ~= "string" or not value:find "^[A-Za-z_\128-\255][%w_\128-\255]*$")
      and "must be a name such as files_done, not " .. M.show(value) or nil
  end,
  name = name_problem("^[a-z][a-z0-9-]*$", 3, 30),
  skill_name = name_problem("^[a-z0-9-]+$", 1, 64),
  about = text_of(MAX_ABOUT, string.len),
  description = text_of(MAX_ABOUT, utf8.len),
  compatibility = text_of(500, utf8.len),
}

-- The codes of types whose texts have a form; all others use "type".
local CODES <const> = { id = "id", path = "path", key = "field", name = "name", skill_name = "name",
  about = "description", description = "description",
  compatibility = "description" }

-- What the author is asked to give for a missing key.
local GIVE <const> = { id = "an id", path = "a path", name = 'a name such as "code-reviewer"',
  skill_name = 'a name such as "code-reviewer"' }

-- Types whose texts have content.
local FILLED <const> = tables.words "label description compatibility"

-- The first key of a kind that distinguishes the items of a list.
local NAMES <const> = tables.words "id name path"

local Check = {}
Check.__index = Check

function Check:value(row, value, at, many)
  if many == "[" then
    return self:list(row, value, at)
  elseif row.choices then
    return not row.choices[value] and self.found:error("choice", at, "must be one of %s, not %s%s",
      table.concat(names.sorted(row.choices), ", "), M.show(value),
      type(value) == "string" and names.meant(value, row.choices) or "")
  elseif (row.mark == "!" or FILLED[row.type]) and type(value) == "string" and not value:find "%S" then
    return self.found:error("missing", at, "is empty: give %s", GIVE[row.type] or "a text")
  end
  if row.type == "unread" then
    self.found:note("unread", at, "is not obeyed: %s", row.doc)
  end
  local problem = (many ~= "{" and LEAVES[row.type] or LEAVES.object)(value)
  if problem then
    self.found:error(type(value) == "string" and CODES[row.type] or "type", at, "%s", problem)
  elseif many == "{" then
    for _, key in ipairs(names.sorted(value)) do
      self:value(row, value[key], ("%s.%s"):format(at, key), "")
    end
  elseif M.KINDS[row.type] then
    self:object(row.type, value, at .. ".")
  end
end

-- A text instead of an object stands for its first key.
local function whole(row, value)
  return row.text and type(value) == "string" and { [M.KINDS[row.type][1].key] = value } or value
end

function Check:list(row, list, at)
  if not json.is_array(list) then
    return self.found:error("type", at, "must be a list, not %s", M.show(list))
  end
  local first, seen = (M.KINDS[row.type] or {})[1], {}
  for i, item in ipairs(list) do
    item = whole(row, item)
    list[i] = item
    self:value(row, item, ("%s[%d]"):format(at, i), "")
    local name = first and NAMES[first.key] and type(item) == "table" and item[first.key]
    if name and seen[name] then
      local place = ("%s[%d].%s"):format(at, i, first.key)
      self.found:error("duplicate", place, "%s is item %d too: rename one, or remove it", M.show(name), seen[name])
    end
    seen[name or i] = i
  end
end

-- The form in which a value is checked: a single text is a list of one, and an empty object an empty list, because
-- Lua's {} has no kind, and writers without lists have no other form.
local function as_list(row, value)
  if (row.type == "text" or row.type == "label") and type(value) == "string" then
    return json.array { value }
  end
  return type(value) == "table" and next(value) == nil and json.array {} or value
end

-- " (did you mean x_skillrt.limits.max_iterations?)": the key that was meant; for one at the top of a config it may
-- be deeper.
local function meant(key, kind, object)
  local rows, known = M.KINDS[kind], {}
  local near = names.nearest(key, rows.rank)
  if near then
    local idle = object[near] ~= nil or rows[rows.rank[near]].type == "unread" -- nothing is lost with it
    return rows.is_open and idle and "" or names.meant(key, { near })
  end
  for _, deeper in ipairs(kind == "config" and { "extension", "limits" } or {}) do
    for name in pairs(M.KINDS[deeper].rank) do
      known[name] = known[name] or (deeper == "limits" and "x_skillrt.limits." or "x_skillrt.") .. name
    end
  end
  near = known[key] and key or names.nearest(key, known)
  return near and (" (did you mean %s?)"):format(known[near]) or ""
end

function Check:unknown(kind, object, where)
  local rows, others = M.KINDS[kind], {}
  for _, key in ipairs(names.sorted(object)) do
    if not rows.rank[key] and not key:find "^[xX][_-]" and not key:find "^%$" then
      local hint = meant(key, kind, object)
      if rows.is_open and hint == "" then
        others[#others + 1] = key
      else
        self.found:warn("unknown-key", where .. key, "no such key%s", hint)
      end
    end
  end
  if others[1] then -- keys of another program share one note
    self.found:note("unknown-key", where .. others[1], "no such key%s",
      others[2] and "; nor are " .. table.concat(others, ", ", 2) or "")
  end
end

function Check:object(kind, object, where)
  self:unknown(kind, object, where)
  for _, row in ipairs(M.KINDS[kind]) do
    local value = object[row.key]
    local is_blank = row.type == "words" and type(value) == "string" and not value:find "%S"
    if is_blank or value == json.null and row.type ~= "any" then
      value = nil
    end
    if value == nil and (row.mark == "+" or row.default ~= "") then
      value = row.default ~= "" and json.decode(row.default) or row.many == "[" and json.array {} or {}
    elseif value ~= nil and row.many == "[" then
      value = as_list(row, value)
    else
      value = whole(row, value)
    end
    object[row.key] = value
    if value == nil and row.mark == "!" then
      self.found:error("missing", where .. row.key, "is missing: give %s",
        row.many == "[" and "a list" or GIVE[row.type] or "a text")
    elseif value ~= nil then
      self:value(row, value, where .. row.key, row.many)
    end
  end
end

---An object with its keys renamed for where it goes: a config's in a definition, a workflow's in a config.
---@param kind string
---@param object table
---@param into table?  gets them
---@return table
function M.taken(kind, object, into)
  into = into or {}
  for _, row in ipairs(M.KINDS[kind]) do
    if row.as and object[row.key] ~= nil then
      into[row.as] = object[row.key]
    end
  end
  return into
end

---Checks an object of a kind, adds missing keys, and reports every unknown key. A null value counts as missing.
---@param kind string
---@param object table  is changed
---@param found skillrt.Findings
---@param at (fun(key: string): { file: string, line: integer? })?  the place of a key; nil: findings name the key
---@return boolean ok  nothing is wrong with it
function M.check(kind, object, found, at)
  local list = at and findings.new() or found
  setmetatable({ found = list }, Check):object(kind, object, "")
  local ok = not list:errors()
  for _, one in ipairs(M.KINDS[kind].rank.hooks and list or {}) do
    one.level = one.level == "error" and "warning" or one.level -- a host's document: it runs anyway
  end
  if at then
    found:take_all(list, at)
  end
  return ok
end

return M
