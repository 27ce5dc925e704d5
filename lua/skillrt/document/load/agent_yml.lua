-- document/load/agent_yml.lua: agent.yml: its tool sets (R95-R105) as the steps of a skill, its workflow
-- settings as limits.
--
-- With the four sets of the known flow (R98, R107-R110) the skill is that flow, a repair loop;
-- with others each set is a phase, in the order of the file (F55). Called by the door.
local json = require "skillrt.base.json"
local json_lines = require "skillrt.document.load.json_lines"
local keys = require "skillrt.document.load.keys"
local names = require "skillrt.base.names"
local yaml = require "skillrt.document.load.yaml"

local M = {}

local FLOW = { "analysis", "generation", "verification", "repair" }
local KNOWN, SETTINGS = keys.set(keys.AGENT_YML), keys.set(keys.WORKFLOW)

---@class skillrt.load.ToolSet
---@field name string
---@field description string
---@field tools string[]?  nil: all of them (F53)
---@field line integer?

local function text_list(value, at, what, found)
  local out, seen = {}, {}
  for i, item in ipairs(value) do
    if type(item) ~= "string" then
      found:error("tool-set", at(("[%d]"):format(i)), ("%s must hold names of tools"):format(what))
    elseif seen[item] then
      found:warn("tool-set", at(("[%d]"):format(i)), ("%s names %s twice"):format(what, names.show(item)))
    else
      seen[item] = true
      out[#out + 1] = item
    end
  end
  return out
end

local function tool_set(one, key, at, found)
  if type(one) ~= "table" then
    found:error("tool-set", at(key), "a tool set must hold name, description and tools, not " .. names.show(one))
    return nil
  end
  local id, problem = names.id(one.name)
  if not id then
    found:error("tool-set", at(key .. ".name"), ("its name %s"):format(problem), "the set was not read", "name it")
    return nil
  end
  local set = { name = id, description = type(one.description) == "string" and one.description or id }
  set.line = at(key).line
  if one.tools == nil or one.tools == json.null then
    local fix = "write `tools: []` for all tools, or list them"
    found:warn("tool-set", at(key), ("tool set %s has no tools"):format(id), "it stands for all tools", fix)
  elseif type(one.tools) ~= "table" then
    found:error("tool-set", at(key .. ".tools"), ("tool set %s: tools must be a list"):format(id))
  else
    local tools = text_list(one.tools, function(more)
      return at(key .. ".tools" .. more)
    end, "tool set " .. id, found)
    set.tools = #tools > 0 and tools or nil
  end
  return set
end

---The tool sets of an agent.yml.
---@param document table
---@param at fun(key: string): { file: string, line: integer? }
---@param found skillrt.load.Findings
---@return skillrt.load.ToolSet[]
function M.tool_sets(document, at, found)
  local sets, seen = {}, {}
  local list = document.skills
  if type(list) ~= "table" or #list == 0 then
    found:error("tool-set", at "skills", "has no skills", "there is nothing to run", "list tool sets below `skills:`")
    return sets
  end
  for i, one in ipairs(list) do
    local set = tool_set(one, ("skills[%d]"):format(i), at, found)
    if set and seen[set.name] then
      local place = at(("skills[%d]"):format(i))
      found:error("tool-set", place, ("tool set %s stands here a second time"):format(set.name), "the first is used")
    elseif set then
      seen[set.name] = true
      sets[#sets + 1] = set
    end
  end
  return sets
end

-- A whole number below workflow.
local function setting(document, key, at, found)
  local least = SETTINGS[key].from
  local value = type(document.workflow) == "table" and document.workflow[key]
  if value == nil or value == false or value == json.null then
    return nil
  elseif math.type(value) ~= "integer" or value < least then
    local what = ("%s must be a whole number from %d on, not %s"):format(key, least, names.show(value))
    found:error("workflow-setting", at("workflow." .. key), what, "it is not used")
    return nil
  end
  return value
end

local function task(name, set)
  return ("%s: %s"):format(name, set.description)
end

-- analysis -> generation -> verification, and repair -> verification as often as allowed (R110, F51).
local function flow_of(by_name, retries)
  local conditions = {
    analysis = {},
    generation = { "completed_actions.includes('analysis')" },
    verification = { "completed_actions.includes('generation')", "!verified" },
    repair = { "verified", "!success", "retry_count < max_retries" },
  }
  local effects = {
    verification = { "verified=true" },
    repair = { "verified=false", "retry_count++" },
  }
  local actions = {}
  for i, name in ipairs(FLOW) do
    actions[i] = {
      id = name,
      description = by_name[name].description,
      prompt = task(name, by_name[name]),
      when = conditions[name],
      effects = effects[name],
      tools = by_name[name].tools,
      priority = 10 * (#FLOW - i + 1),
      max_runs = name == "repair" and math.max(retries, 1) or name == "verification" and retries + 1 or nil,
      agent = "default",
    }
  end
  actions[#actions + 1] = { id = "action-complete", when = { "verified", "success" }, terminal = "completed" }
  actions[#actions + 1] = {
    id = "action-abort",
    when = { "verified", "!success", "retry_count >= max_retries" },
    terminal = "failed",
  }
  return actions
end

local function has_flow(by_name)
  for _, name in ipairs(FLOW) do
    if not by_name[name] then
      return false
    end
  end
  return true
end

local function others_of(sets)
  local out = {}
  for _, set in ipairs(sets) do
    local step = false
    for _, name in ipairs(FLOW) do
      step = step or set.name == name
    end
    out[#out + 1] = not step and set or nil
  end
  return out
end

local function tell_unused(sets, at, found)
  for _, set in ipairs(sets) do
    local place = at ""
    place.line = set.line
    local why = set.tools and "it is kept for a host that asks for it" or "its empty list means all tools"
    found:note("tool-set-unused", place, ("tool set %s is no step of the flow"):format(set.name), why)
  end
end

local function phases_of(sets, at, found)
  local phases, unused = {}, {}
  for _, set in ipairs(sets) do
    if set.tools then
      phases[#phases + 1] = {
        id = set.name,
        description = set.description,
        prompt = task(set.name, set),
        tools = set.tools,
        agent = "default",
      }
    else
      unused[#unused + 1] = set
    end
  end
  tell_unused(unused, at, found)
  return phases
end

local function tell_keys(document, at, found)
  for _, key in ipairs(names.sorted(document)) do
    if not KNOWN[key] then
      local meant = names.meant(key, KNOWN)
      local what = ("key %s is not known%s"):format(names.show(key), meant)
      if meant ~= "" then
        found:warn("unknown-key", at(key), what, "skillrt does not use it")
      else
        found:note("unknown-key", at(key), what, "skillrt does not use it")
      end
    end
  end
  local secret = type(document.llm) == "table" and document.llm["api-key"]
  if type(secret) == "string" and secret ~= "" and not secret:find "^%${[%w_:.-]+}$" then
    local fix = "write ${env:NAME} and set NAME in the environment"
    found:warn("secret", at "llm.api-key", "an API key stands in the file", "whoever reads the file has it", fix)
  end
end

-- What the sets become: the known flow, or one phase each.
local function add_steps(definition, sets, retries, at, found)
  local by_name = {}
  for _, set in ipairs(sets) do
    by_name[set.name] = set
  end
  if not has_flow(by_name) then
    definition.mode, definition.phases = "sequential", phases_of(sets, at, found)
    return
  end
  definition.mode, definition.actions = "autonomous", flow_of(by_name, retries)
  definition.state = { verified = false, success = false, retry_count = 0, max_retries = retries, errors_found = {} }
  tell_unused(others_of(sets), at, found)
end

---The definition an agent.yml stands for.
---@param text string
---@param path string  its name, for findings
---@param name string  for the skill, where the file has none
---@param found skillrt.load.Findings
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
  tell_keys(document, at, found)
  local sets = M.tool_sets(document, at, found)
  local retries = setting(document, "max-retries", at, found) or 3
  local definition = {
    name = names.id(document.name) or name,
    description = type(document.description) == "string" and document.description or nil,
    interaction = type(document.workflow) == "table" and document.workflow.interactive == true and "interactive" or nil,
    limits = { no_progress = setting(document, "max-stale-iterations", at, found) },
    x = { tool_sets = sets, settings = document },
  }
  add_steps(definition, sets, retries, at, found)
  return found:count "error" == 0 and definition or nil
end

return M
