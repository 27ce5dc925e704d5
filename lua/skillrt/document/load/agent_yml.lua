-- document/load/agent_yml.lua: reads agent.yml: its tool sets (R95-R105), their bindings and their switching, as the
-- steps of a skill; its workflow settings as limits.
--
-- With the four sets of the known flow (R98, R107-R110) the skill is that flow, a repair loop;
-- with others each set is a phase, in the order of the file (F55). Called by load/init.lua.
local drawn = require "skillrt.base.drawn"
local files = require "skillrt.base.files"
local findings = require "skillrt.document.findings"
local foreign = require "skillrt.document.load.foreign"
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"
local json_lines = require "skillrt.document.load.json_lines"
local names = require "skillrt.base.names"
local of_skill = require "skillrt.skill.tool_sets"
local tables = require "skillrt.base.tables"
local tool = require "skillrt.tool"
local yaml = require "skillrt.document.load.yaml"

local M = {}

-- A list without repetitions.
local function once(list, at, what, found)
  local out, seen = {}, {}
  for i, item in ipairs(list or {}) do
    if seen[item] then
      found:warn("tool-set", at(("[%d]"):format(i)), ("%s names %s twice"):format(what, names.show(item)))
    end
    out[#out + 1] = not seen[item] and item or nil
    seen[item] = true
  end
  return out
end

local function tool_set(one, key, at, found)
  local what = "tool set " .. one.name
  if one.tools == nil then
    found:warn("tool-set", at(key), what .. " has no tools", "it stands for all tools",
      "write `tools: []` for all tools, or list them")
  end
  local function at_tools(more)
    return at(key .. ".tools" .. more)
  end
  local tools = once(one.tools, at_tools, what, found)
  return { name = one.name, description = one.description or one.name, prompt = one.prompt ~= "" and one.prompt or nil,
    optional = one.optional, bind = one.bind, tools = #tools > 0 and tools or nil }
end

-- Optional names that no set uses: probably misspelt.
local function tell_idle(list, asked, at, what, found)
  for _, name in ipairs(list or {}) do
    if not asked[name] then
      local meant = names.meant(name, asked)
      local text = ("%s: no tool set names %s%s"):format(what, names.show(name), meant)
      found[meant ~= "" and "warn" or "note"](found, "tool-set", at, text)
    end
  end
end

-- What may be missing in a set that does not say (R105).
local function known_optional(set)
  local out = {}
  for _, name in ipairs(set.tools or {}) do
    out[#out + 1] = tables.has(of_skill.OPTIONAL, name) and name or nil
  end
  return out[1] and out or nil
end

-- The tool sets of an agent.yml, whose keys are checked first; none where one of them is wrong.
local function read_sets(document, at, found)
  local sets = {}
  if not form.check("agent_yml", document, found, at) then
    return sets
  elseif #document.skills == 0 then
    found:error("tool-set", at "skills", "has no skills", "there is nothing to run", "list tool sets below `skills:`")
  end
  for i, one in ipairs(document.skills) do
    sets[i] = tool_set(one, ("skills[%d]"):format(i), at, found)
    sets[i].optional = sets[i].optional or document.optional_tools == nil and known_optional(sets[i]) or nil
  end
  return sets
end

local MAX_BYTES <const> = 1 << 20

-- An agent.yml, and where its keys are; nil: it is none, which is reported.
local function parsed(text, path, found)
  local document, lines, line = yaml.parse(text)
  if document == nil then
    found:error("yaml", { file = path, line = line }, lines)
  elseif type(document) ~= "table" or json.is_array(document) then
    local place = { file = path, line = 1 }
    found:error("agent-yml", place, "holds no keys", "nothing of it was read", "begin with `skills:`")
  else
    return document, function(key)
      return { file = path, line = json_lines.nearest(lines, key) }
    end
  end
end

---The tool sets of an agent.yml, for a script with tools of its own: relative to the working folder, or next to the
---script. The file is pinned with the run. Raises if it cannot be read.
---@param path string
---@return skillrt.ToolSet[]
function M.from_path(path)
  if type(path) ~= "string" then
    error("skillrt.tool_sets: the path must be a text, not " .. names.show(path), 2)
  end
  local loading, found = drawn.loading, findings.new()
  local beside = loading and not files.is_absolute(path) and files.join(loading.dir, path)
  path = beside and files.stat(beside) and beside or path
  local text, message = files.read(path, MAX_BYTES)
  local document, at, sets
  if text then
    document, at = parsed(text, path, found)
    sets = document and read_sets(document, at, found)
    message = found:errors()
  end
  if message then
    error("skillrt.tool_sets: " .. message, 0)
  elseif loading then
    local here = (files.join(files.join(files.current(), loading.dir), ""):gsub("/%./", "/"))
    local whole = files.join(files.current(), (path:gsub("^%./", "")))
    local name = whole:sub(1, #here) == here and whole:sub(#here + 1) or whole
    loading.pins["helper " .. name] = files.digest(text)
  end
  return sets
end

-- The names by which agents with tools of their own call them: Read, Bash, mcp__server__tool.
local function is_host_tool(name)
  return type(name) == "string" and (name:find("^%u%a*$") or name:find("^mcp__[%w_-]+$")) ~= nil
end

-- What the names of a set, or of all, mean: built-in tools, which are declared by being named, or the agent's own.
local function bound(binding, tools, at, found)
  local out = {}
  for _, name in ipairs(type(binding) == "table" and names.sorted(binding) or { "" }) do
    local given = type(binding) == "table" and binding[name]
    local list = type(given) == "string" and { given } or type(given) == "table" and given or { false }
    for _, one in ipairs(list) do
      if tool.BUILT_IN[one] then
        tools[one] = true
      elseif not is_host_tool(one) then
        local asked = names.show(one)
        local what = ("bind: %s stands for %s, which is not built in%s"):format(name, asked,
          type(one) == "string" and names.suggest(one, tool.BUILT_IN) or "")
        found:error("tool-set", at("bind." .. name), what)
      end
    end
    out[name] = list
  end
  return out
end

local function bind(document, sets, definition, at, found)
  local tools = {}
  if document.bind ~= nil then
    definition.bind = bound(document.bind, tools, at, found)
  end
  for _, set in ipairs(sets) do
    set.bind = set.bind and bound(set.bind, tools, at, found)
  end
  definition.tools = next(tools) and tools or nil
end

-- The names of sets below a key of `switching`.
local function sets_in(given, key, sets, at, found)
  local known = tables.by(sets, "name")
  for _, name in ipairs(type(given) == "table" and given or { given }) do
    if not known[name] then
      found:error("tool-set", at("switching." .. key), ("switching: %s: there is no tool set %s%s"):format(key,
        names.show(name), names.suggest(tostring(name), known)))
    end
  end
  return given
end

-- How the sets are switched, and what their names mean; both become parts of the definition.
local function switching_of(document, sets, definition, at, found)
  bind(document, sets, definition, at, found)
  definition.optional_tools = document.optional_tools and once(document.optional_tools, function(more)
    return at("optional_tools" .. more)
  end, "optional_tools", found)
  local asked = {}
  for _, set in ipairs(sets) do
    for _, name in ipairs(set.tools or {}) do
      asked[name] = true
    end
  end
  for _, set in ipairs(sets) do
    tell_idle(set.optional, asked, at "skills", ("tool set %s: optional"):format(set.name), found)
  end
  tell_idle(definition.optional_tools, asked, at "optional_tools", "optional_tools", found)
  local given = document.switching
  local out = { by = given and given.by }
  definition.switching = given and form.taken("switching", given)
  for _, key in ipairs(given and { "order", "verify", "repair" } or {}) do
    out[key] = given[key] and sets_in(given[key], key, sets, at, found)
  end
  if out.by and out.by ~= "orchestrator" and (out.order or out.verify or out.repair) then
    found:error("tool-set", at "switching", "switching: order, verify and repair are the orchestrator's",
      "with another `by` the agent goes from set to set", "leave them out, or `by`")
  end
  return out
end

-- Reports an API key in the file.
local function tell_secret(document, at, found)
  local secret = document.llm and document.llm["api-key"]
  if type(secret) == "string" and secret ~= "" and not secret:find "^%${[%w_:.-]+}$" then
    found:warn("secret", at "llm.api-key", "the file contains an API key")
  end
end

local FLOW = { "analysis", "generation", "verification", "repair" }
local MOST_ROUNDS <const> = 20 -- for work that reports its phases itself

local function task(name, set)
  return ("%s: %s"):format(name, set.description)
end

-- What the runtime writes for the steps of a flow: the agent neither writes nor counts it (F51).
local function kept_of(name, flow, retries)
  local keeps = { at_start = { phase = name, max_retries = retries } }
  if name == flow.verify then
    keeps.at_start.verified, keeps.at_end = false, { verified = true }
    keeps.needs, keeps.takes = { "success" }, { errors = "errors_found" }
  elseif name == flow.repair then
    keeps.at_start.verified, keeps.counts = false, "retry_count"
  end
  return keeps
end

-- One set after the other, then verify, and repair and verify as often as allowed (R107-R110, F51).
local function flow_of(flow, by_name, retries)
  local actions, before = {}, nil
  for i, name in ipairs(flow) do
    local is_verify, is_repair = name == flow.verify, name == flow.repair
    local when = is_repair and { "verified", "!success", "retry_count < max_retries" } or {}
    if not is_repair and before then
      when[1] = ("completed_actions.includes('%s')"):format(before)
    end
    when[#when + 1] = is_verify and "!verified" or nil
    actions[i] = {
      id = name,
      description = by_name[name].description,
      prompt = task(name, by_name[name]),
      when = when,
      effects = is_verify and { "verified=true" } or is_repair and { "verified=false", "retry_count++" } or nil,
      keeps = kept_of(name, flow, retries),
      tool_set = name,
      priority = 10 * (#flow - i + 1),
      max_runs = is_repair and math.max(retries, 1) or is_verify and retries + 1 or nil,
      agent = "default",
    }
    before = name
  end
  actions[#actions + 1] = { id = "action-complete", when = { "verified", "success" }, terminal = "completed" }
  actions[#actions + 1] = {
    id = "action-give-up",
    when = { "verified", "!success", "retry_count >= max_retries" },
    terminal = "failed",
  }
  return actions
end

-- The sets of the flow in their order; nil: they make none.
local function flow_in(by_name, given)
  local flow = { verify = given.verify or FLOW[3], repair = given.repair or FLOW[4] }
  for _, name in ipairs(given.order or { FLOW[1], FLOW[2] }) do
    flow[#flow + 1] = name ~= flow.verify and name ~= flow.repair and name or nil
  end
  flow[#flow + 1], flow[#flow + 2] = flow.verify, flow.repair
  for _, name in ipairs(flow) do
    if not by_name[name] then
      return nil
    end
  end
  return flow
end

local function others_of(sets, flow)
  local out = {}
  for _, set in ipairs(sets) do
    out[#out + 1] = not tables.has(flow, set.name) and set or nil
  end
  return out
end

-- Where each set stands.
local function places_of(sets, at)
  local keys_of = {}
  for i, set in ipairs(sets) do
    keys_of[set.name] = keys_of[set.name] or ("skills[%d]"):format(i)
  end
  return function(name)
    return at(keys_of[name] or "skills")
  end
end

local function tell_unused(sets, at, found)
  for _, set in ipairs(sets) do
    local place = at(set.name)
    local why = set.tools and "it is kept for a host that asks for it" or "its empty list means all tools"
    found:note("tool-set-unused", place, ("tool set %s is not a step of the flow"):format(set.name), why)
  end
end

-- Each set that names tools is a phase; or those of a given order, whatever they name.
local function phases_of(sets, by_name, order, at, found)
  local phases, listed = {}, {}
  for i, name in ipairs(order or {}) do
    listed[i] = by_name[name]
  end
  local unused = order and others_of(sets, order) or {}
  for _, set in ipairs(order and listed or sets) do
    if set.tools or order then
      phases[#phases + 1] = {
        id = set.name,
        description = set.description,
        prompt = task(set.name, set),
        tool_set = set.name,
        agent = "default",
      }
    else
      unused[#unused + 1] = set
    end
  end
  tell_unused(unused, at, found)
  return phases
end

local function in_state(definition, phase, retries)
  definition.state = { phase = phase, verified = false, success = false, retry_count = 0, max_retries = retries,
    errors_found = json.array {} }
  definition.schema = { success = "boolean" }
end

-- One step for the whole work: its agent goes from set to set.
local function add_work(definition, sets, start)
  local about = {}
  for i, set in ipairs(sets) do
    about[i] = task(set.name, set)
  end
  definition.mode, definition.state = "autonomous", { finished = false, phase = start }
  definition.schema = { finished = "boolean" }
  definition.actions = {
    { id = "work", description = "The work, phase by phase", when = "!finished", max_runs = MOST_ROUNDS,
      agent = "default", keeps = { needs = { "finished" }, writes = { "phase" } },
      prompt = "Do the work phase by phase:\n- " .. table.concat(about, "\n- ") },
    { id = "action-complete", when = "finished", terminal = "completed" },
  }
end

-- What the sets become: one step for an agent that switches itself; the flow; or one phase each.
local function add_steps(definition, sets, given, retries, at, found)
  local by_name = tables.by(sets, "name")
  definition.tool_sets = sets
  if given.by and given.by ~= "orchestrator" then
    return add_work(definition, sets, definition.switching.start or sets[1] and sets[1].name)
  end
  local alternates = given.verify or given.repair
  local flow = (not given.order or alternates) and flow_in(by_name, given)
  if not flow and alternates then
    found:error("tool-set", at "", "switching: verify and repair need a tool set each",
      "without a name they are verification and repair")
  elseif definition.switching and definition.switching.start then
    found:error("tool-set", at "", "switching: start is of no use to the orchestrator",
      "each step has the set it is named after", "list them in `order`")
  end
  if not flow then
    definition.mode, definition.phases = "sequential", phases_of(sets, by_name, given.order, at, found)
    return
  end
  definition.mode, definition.actions = "autonomous", flow_of(flow, by_name, retries)
  in_state(definition, flow[1], retries)
  tell_unused(others_of(sets, flow), at, found)
end

---The definition an agent.yml stands for.
---@param text string
---@param path string  its name, for findings
---@param name string  for the skill, where the file has none
---@param found skillrt.Findings
---@return table? definition  its agent "default" is not in it
function M.definition(text, path, name, found)
  local document, at = parsed(text, path, found)
  local other = document and foreign.yaml(document, path)
  if other then
    foreign.tell(found, { file = path, line = 1 }, other)
  end
  local sets = document and not other and read_sets(document, at, found)
  if found:errors() then
    return nil
  end
  tell_secret(document, at, found)
  local id, unfit = names.id(document.name or name)
  if unfit then
    found:warn("agent-yml", at "name", "name: " .. unfit, ("the skill is called %s"):format(name))
  end
  local settings = document.workflow or {}
  local retries = settings["max-retries"] or 3
  local definition = {
    name = id or name,
    description = document.description,
    sandbox = document.sandbox,
    interaction = settings.interactive and "interactive" or nil,
    limits = { no_progress = settings["max-stale-iterations"] },
    x = { settings = document },
  }
  local switching = switching_of(document, sets, definition, at, found)
  if found:errors() then
    return nil
  end
  add_steps(definition, sets, switching, retries, places_of(sets, at), found)
  return not found:errors() and definition or nil
end

return M
