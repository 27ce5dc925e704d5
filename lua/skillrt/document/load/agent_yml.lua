-- document/load/agent_yml.lua: agent.yml: its tool sets (R95-R105) as the steps of a skill, its workflow
-- settings as limits.
--
-- With the four sets of the known flow (R98, R107-R110) the skill is that flow, a repair loop;
-- with others each set is a phase, in the order of the file (F55). Called by the door.
local json = require "skillrt.base.json"
local json_lines = require "skillrt.document.load.json_lines"
local names = require "skillrt.base.names"
local sets_of = require "skillrt.document.load.tool_sets"
local yaml = require "skillrt.document.load.yaml"

local M = {}

local FLOW = { "analysis", "generation", "verification", "repair" }
local MOST_ROUNDS <const> = 20 -- of a work that reports its phases itself

local function task(name, set)
  return ("%s: %s"):format(name, set.description)
end

-- What the runtime writes for the steps of a flow: the agent neither writes nor counts these (F51).
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
    local step = false
    for _, name in ipairs(flow) do
      step = step or set.name == name
    end
    out[#out + 1] = not step and set or nil
  end
  return out
end

-- Where each set stands.
local function places_of(document, at)
  local keys_of = {}
  for i, one in ipairs(document.skills or {}) do
    local name = type(one) == "table" and one.name or ""
    keys_of[name] = keys_of[name] or ("skills[%d]"):format(i)
  end
  return function(name)
    return at(keys_of[name] or "skills")
  end
end

local function tell_unused(sets, at, found)
  for _, set in ipairs(sets) do
    local place = at(set.name)
    local why = set.tools and "it is kept for a host that asks for it" or "its empty list means all tools"
    found:note("tool-set-unused", place, ("tool set %s is no step of the flow"):format(set.name), why)
  end
end

-- Each set that names tools is a phase; or those of an order, whatever they name.
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

-- One step as long as the work lasts: who performs it goes from set to set.
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

-- What the sets become: one step for whoever switches himself; the flow; or one phase each.
local function add_steps(definition, sets, given, retries, at, found)
  local by_name = {}
  for _, set in ipairs(sets) do
    by_name[set.name] = set
  end
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
  local document, lines, line = yaml.parse(text)
  if document == nil then
    found:error("yaml", { file = path, line = line }, lines, "nothing of it was read")
    return nil
  elseif type(document) ~= "table" or json.is_array(document) then
    local place = { file = path, line = 1 }
    found:error("agent-yml", place, "holds no keys", "nothing of it was read", "begin with `skills:`")
    return nil
  end
  local other = require("skillrt.document.load.foreign").yaml(document)
  if other then
    require("skillrt.document.load.foreign").tell(found, { file = path, line = 1 }, other)
    return nil
  end
  local function at(key)
    return { file = path, line = json_lines.nearest(lines, key) }
  end
  local sets = sets_of.read(document, at, found)
  if found:errors() then
    return nil
  end
  sets_of.tell_secret(document, at, found)
  local id, unfit = names.id(document.name or name)
  if unfit then
    found:warn("agent-yml", at "name", "name: " .. unfit, ("the skill is called %s"):format(name))
  end
  local settings = document.workflow or {}
  local retries = settings["max-retries"] or 3
  local definition = {
    name = id or name,
    description = document.description,
    interaction = settings.interactive and "interactive" or nil,
    limits = { no_progress = settings["max-stale-iterations"] },
    x = { settings = document },
  }
  local switching = sets_of.switching(document, sets, definition, at, found)
  if found:errors() then
    return nil
  end
  add_steps(definition, sets, switching, retries, places_of(document, at), found)
  return not found:errors() and definition or nil
end

return M
