-- skill/tool_sets.lua: the tool sets of a skill in their normal form (R95, F55): their order, the tools that their
-- names mean, which of them may be missing, and how a run switches between them.
--
-- A set changes which tools are present and nothing else. Pure; the books know which set a run is in. Called by
-- skill/init.lua for a skill that has sets, and by whoever asks what a set holds.

local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")

local M = {}

---@class skillrt.ToolSet
---@field id string            its name: a prompt that is a file is pinned by it
---@field name string
---@field description string
---@field tools string[]?      as written; nil: all (F53)
---@field optional string[]?   those of them that may be missing
---@field bind table<string, string[]>?  what a name means in this set, instead of the skill's `bind` (R197)
---@field prompt string?       further text for prompts while it is active: a text, or a file of the skill

---@class skillrt.Switching  how a run switches between sets
---@field by "orchestrator"|"report"|"rules"|"calls"
---@field start string                   the set that a run starts with
---@field next table<string, string[]>?  what may follow a set; nil: any other
---@field rules table<string, string>?   by set: when to leave it, as the agent's prompt says
---@field map table<string, string>      by tool: the set that a call of it indicates
---@field window integer                 how many calls are considered
---@field lead integer                   how many more of them must indicate another set
---@field advises boolean?               the map only advises: what the calls indicate is recorded (F54)
---@field fallback string?               the set that a call to an absent tool switches to
---@field summary integer                bytes of a prompt's text about earlier phases; 0: none

local SET <const> = {
  name = { type = "id", required = true },
  description = { type = "string" },
  tools = { type = "text", list = true },
  optional = { type = "text", list = true },
  bind = { type = "table" },
  prompt = { type = "text" },
}

---How a switch happens.
M.BY = { "orchestrator", "report", "rules", "calls" }

---Which set a call indicates, if the skill says nothing (R111).
M.MAP = { analyzeClass = "analysis", writeFile = "generation", compileProject = "verification",
  searchReplace = "repair" }

local SWITCHING <const> = {
  by = { enum = M.BY, default = "orchestrator" },
  start = { type = "text" },
  next = { type = "table" },
  rules = { type = "text", map = true },
  map = { type = "text", map = true },
  window = { type = "positive", default = 6 },
  lead = { type = "positive", default = 2 },
  fallback = { type = "text" },
  summary = { type = "count", default = 4096 },
}

---Tools that others depend on: which these are (R105).
M.NEEDED_BY = { SyntaxCheckerTool = "CompileGuard" }

---Tools that may be missing in any agent.yml (R105).
M.OPTIONAL = { "LspSyntaxCheckerTool", "MutationTestTool" }

local KEEPS <const> = {
  at_start = { type = "table" },
  at_end = { type = "table" },
  counts = { type = "text" },
  needs = { type = "text", list = true },
  writes = { type = "text", list = true },
  takes = { type = "text", map = true },
}

---@class skillrt.Keeps  state fields that the runtime writes instead of the agent (F51)
---@field at_start table?    values when the step starts, in the same record
---@field at_end table?      values when it completes
---@field counts string?     a field that is incremented at each start
---@field writes string[]?   fields that only the runtime writes, at any time: "phase" with each switch
---@field needs string[]?    fields that its updates must hold
---@field takes table<string, string>?  by a name that updates cannot use: the field that is meant

---The set with that name.
---@param skill skillrt.Skill
---@param name string|nil
---@return skillrt.ToolSet|nil
function M.find(skill, name)
  for _, set in ipairs(skill.tool_sets or {}) do
    if set.name == name then
      return set
    end
  end
end

---The message about a set that does not exist.
---@param skill skillrt.Skill
---@param name any
---@return string
function M.unknown(skill, name)
  local all = tables.by(skill.tool_sets, "name")
  return ("there is no tool set %s%s"):format(names.show(name), names.suggest(tostring(name), all))
end

---The tools that a name of a set means: those that the set or the skill binds it to, else the tool with that name.
---@param skill skillrt.Skill
---@param set skillrt.ToolSet
---@param name string
---@return string[]
function M.bound(skill, set, name)
  return set.bind and set.bind[name] or skill.bind and skill.bind[name] or { name }
end

---The tools of a set, by their names.
---@param skill skillrt.Skill
---@param set skillrt.ToolSet
---@return string[]|nil names  nil: all tools
function M.names(skill, set)
  if not set.tools then
    return nil
  end
  local out, seen = {}, {}
  for _, written in ipairs(set.tools) do
    for _, name in ipairs(M.bound(skill, set, written)) do
      out[#out + 1] = not seen[name] and name or nil
      seen[name] = true
    end
  end
  return out
end

---The tools of all sets.
---@param skill skillrt.Skill
---@return string[]|nil names  nil: a set holds all tools
function M.union(skill)
  local out, seen = {}, {}
  for _, set in ipairs(skill.tool_sets) do
    local list = M.names(skill, set)
    if not list then
      return nil
    end
    for _, name in ipairs(list) do
      out[#out + 1] = not seen[name] and name or nil
      seen[name] = true
    end
  end
  return out
end

---Tools that a set names and that are missing, unless they may be.
---@param skill skillrt.Skill
---@param has fun(name: string): any  whether there is a tool with that name
---@return string? problem
function M.missing(skill, has)
  for _, set in ipairs(skill.tool_sets) do
    local may = {}
    for _, list in ipairs({ set.optional or {}, skill.optional_tools or {} }) do
      tables.fill(may, tables.set(list))
    end
    for _, written in ipairs(set.tools or {}) do
      for _, name in ipairs(may[written] and {} or M.bound(skill, set, written)) do
        if not has(name) then
          local who = M.NEEDED_BY[written]
          local text = "tool set %s: there is no tool %s%s%s; declare it in tools, or bind = { %s = ... }%s"
          return text:format(set.name, names.show(name), name ~= written and (" (for %s)"):format(written) or "",
            who and (", which %s needs"):format(who) or "", written, who and "" or ", or name it in optional_tools")
        end
      end
    end
  end
end

-- What names mean, each as a list; or nil and why not.
local function binds(given, written, where, whose)
  local bind = {}
  for name, one in pairs(given or {}) do
    local list = type(one) == "string" and { one } or one
    for i, tool in ipairs(type(list) == "table" and list or { false }) do
      if type(name) ~= "string" or type(tool) ~= "string" then
        return nil, ('%s: %s[%d] must be the name of a tool, or a list of names'):format(where, tostring(name), i)
      end
    end
    if not list[1] then
      return nil, ('%s: %s stands for no tool; name one, or leave it out of the sets'):format(where, names.show(name))
    elseif not written[name] then
      return nil, ('%s: %s names %s%s'):format(where, whose, names.show(name), names.suggest(name, written))
    end
    bind[name] = list
  end
  return bind
end

local function check_sets(skill)
  local sets, seen = {}, {}
  for i, given in ipairs(skill.tool_sets) do
    local where = ('field "tool_sets": [%d]'):format(i)
    local set, message = schema.record(given, SET, where)
    if not set then
      return message
    elseif seen[set.name] then
      return ("%s: %s occurs twice"):format(where, names.show(set.name))
    end
    seen[set.name], sets[i] = true, set
    set.id, set.description = set.name, set.description or set.name
    set.tools = set.tools and set.tools[1] and set.tools or nil
    if set.bind then
      set.bind, message = binds(set.bind, tables.set(set.tools or {}), where .. ": bind", "the set never")
      if not set.bind then
        return message
      end
    end
  end
  if not sets[1] then
    return 'field "tool_sets": is empty; list sets, or leave it out'
  end
  skill.tool_sets = sets
end

local function check_bind(skill)
  local written = {}
  for _, set in ipairs(skill.tool_sets) do
    tables.fill(written, tables.set(set.tools or {}))
  end
  local message
  skill.bind, message = binds(skill.bind, written, 'field "bind"', "no tool set")
  return message
end

-- Checks that every name in the switching is the name of a set.
local function check_names(skill, switching)
  local function is_set(name)
    return not M.find(skill, name) and M.unknown(skill, name) or nil
  end
  for from, list in pairs(switching.next or {}) do
    list = type(list) == "string" and { list } or list
    switching.next[from] = list
    local problem = is_set(from)
    for _, to in ipairs(type(list) == "table" and list or { false }) do
      problem = problem or is_set(to)
    end
    if problem then
      return "next: " .. problem
    end
  end
  for _, name in ipairs(names.sorted(switching.rules or {})) do
    local problem = is_set(name)
    if problem then
      return "rules: " .. problem
    end
  end
  for _, tool in ipairs(names.sorted(switching.map or {})) do
    local problem = is_set(switching.map[tool])
    if problem then
      return ("map: %s: %s"):format(tool, problem)
    end
  end
  for _, field in ipairs({ "start", "fallback" }) do
    local problem = switching[field] and is_set(switching[field])
    if problem then
      return ("%s: %s"):format(field, problem)
    end
  end
end

-- An unknown field is an error, not ignored silently.
local function idle(given, by)
  local reports = by == "report" or by == "rules"
  for _, key in ipairs({ "next", "rules" }) do
    if given[key] ~= nil and not reports then
      return ('"%s" is for an agent that reports: by = "report" or "rules", not "%s"'):format(key, by)
    end
  end
  for _, key in ipairs({ "window", "lead" }) do
    if given[key] ~= nil and by ~= "calls" and given.map == nil then
      return ('"%s" is for the pattern of calls: by = "calls", or a "map" that advises'):format(key)
    end
  end
end

local function check_switching(skill)
  local where = 'field "switching"'
  local switching, message = schema.record(skill.switching or {}, SWITCHING, where)
  if not switching then
    return message
  end
  message = idle(skill.switching or {}, switching.by)
  if message then
    return ("%s: %s"):format(where, message)
  end
  if switching.next then
    local copy = tables.fill({}, switching.next)
    switching.next = copy
  end
  message = check_names(skill, switching)
  if not message and switching.by == "rules" and not (switching.rules or switching.next) then
    message = 'by = "rules" needs "rules" or "next": the agent gets them'
  end
  if message then
    return ("%s: %s"):format(where, message)
  end
  switching.advises = switching.map and switching.by ~= "calls" or nil
  switching.start, switching.map = switching.start or skill.tool_sets[1].name, switching.map or M.MAP
  skill.switching = switching
end

-- What the runtime writes for a step, and the set that it names.
local function check_step(skill, one)
  local name = ('%s "%s"'):format(one.kind, one.id)
  if one.tool_set and not skill.tool_sets then
    return ("%s: tool_set: the skill has no tool_sets"):format(name)
  elseif one.tool_set and not M.find(skill, one.tool_set) then
    return ("%s: tool_set: %s"):format(name, M.unknown(skill, one.tool_set))
  elseif one.tool_set and one.tools then
    return ('%s: has "tools" beside "tool_set"; keep one'):format(name)
  elseif one.keeps then
    local keeps, message = schema.record(one.keeps, KEEPS, name .. ": keeps")
    if not keeps then
      return message
    end
    one.keeps, skill.kept = keeps, skill.kept or {}
    for _, part in ipairs({ "at_start", "at_end" }) do
      for key in pairs(keeps[part] or {}) do
        skill.kept[key] = true
      end
    end
    for _, list in ipairs({ keeps.writes or {}, { keeps.counts } }) do
      tables.fill(skill.kept, tables.set(list))
    end
    for _, effect in ipairs(one.effects) do
      effect.kept = skill.kept[effect.key]
    end
  end
end

-- Sets decide which tools are present; so does an agent that searches its tools: the two exclude each other.
local function both_ways(skill)
  for _, id in ipairs(names.sorted(skill.agents or {})) do
    if skill.agents[id].find_tools then
      return ('agent "%s": find_tools and tool_sets both say which tools are present; leave one of them out'):format(id)
    end
  end
end

---Gives a skill's sets, and its switching, their normal form.
---@param skill table  its actions and phases have theirs
---@return string? problem
function M.check(skill)
  local message
  if skill.tool_sets then
    message = check_sets(skill) or check_bind(skill) or check_switching(skill) or both_ways(skill)
    local tools = skill.tools
    if not message and tools and not skill.mcp then -- what servers offer is only known when they run
      local of_all = require("skillrt.tool").OF_ALL
      message = M.missing(skill, function(name) return tools[name] or of_all[name] end)
    end
  elseif skill.bind or skill.switching or skill.optional_tools then
    message = ('field "%s" needs "tool_sets"'):format(skill.bind and "bind" or skill.switching and "switching"
      or "optional_tools")
  end
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      message = message or check_step(skill, one)
    end
  end
  return message
end

return M
