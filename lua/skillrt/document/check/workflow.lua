-- document/check/workflow.lua: checks a workflow script: its meta and syntax, the schemas of its agents' answers, the
-- phases it names; runs it once in memory, with stub agents.
--
-- An error that it throws may be due to missing arguments, and is only a note. Part of subject.lua.

local choice = require "skillrt.agent.choice"
local files = require "skillrt.base.files"
local json_schema = require "skillrt.base.json_schema"
local limits = require "skillrt.skill.limits"
local names = require "skillrt.base.names"
local runner = require "skillrt.run.runner"
local skill = require "skillrt.skill"
local script = require "skillrt.skill.workflow.script"
local tables = require "skillrt.base.tables"
local workflow = require "skillrt.skill.workflow"

local M = {}

local DRY <const> = { kind = "dry" }
local MAX_AGENTS <const>, REST_SECONDS <const> = limits.default("max_agents"), 10

---@class skillrt.check.Tried
---@field phases table<string, boolean>  those that were started
---@field asked integer               agents
---@field agents { label: string, phase: string? }[]
---@field taken integer               of these, how many answers were recorded
---@field schemas table<string, string>  what is wrong with one, by its agent
---@field wrong table<string, { code: string, line: integer? }>  other errors, by message
---@field meta table|nil     its description of itself
---@field done table|nil
---@field message string|nil
---@field fault boolean|nil   it cannot be read at all

-- What the script would ask, collected during the dry run.
local function watched(ctx, tried)
  return setmetatable({
    log = function() end,
    phase = function(title)
      tried.phases[title], tried.phase = true, title
    end,
    ask = function()
      return "answer"
    end,
    once = function(_, fn)
      local value = fn()
      tried.taken = tried.taken + (value and 1 or 0)
      return value
    end,
  }, { __index = ctx })
end

-- A message without the place that it begins with: a finding has it.
local function unplaced(message)
  return (message:gsub("^[^\n:]*%.m?[jt]s:[%d:]* ?", ""):gsub("^line %d+: ", ""))
end

local function line_in(message)
  return math.tointeger(tonumber(message:match("^[^\n:]*:(%d+)") or message:match("^line (%d+)")))
end

-- An error that no argument avoids: a bug in the script.
local function is_reference(message)
  return message:find("ReferenceError: ", 1, true) ~= nil
end

local function options_of(tried, dir)
  return function(ask)
    local given = ask.options
    tried.asked = tried.asked + 1
    tried.agents[tried.asked] = { label = script.name_of(ask), phase = given.phase or tried.phase }
    local _, unknown = choice.of_prompt({ agents = { default = DRY }, dir = dir }, nil, given.agent_type)
    local wrong = ask.wrong or unknown
    if wrong then
      tried.wrong[wrong] = { code = "workflow.refused" }
    end
    if given.phase then
      tried.phases[given.phase] = true
    end
    local fits, why = true, nil
    if given.schema then
      fits, why = json_schema.check(given.schema, "schema", true)
    end
    if not fits then
      tried.schemas[given.label or "an agent"] = why
      return {}
    end
    return { schema = given.schema }
  end
end

-- Runs the script without asking any agent.
local function try(path, source, name, args)
  local tried = { phases = {}, schemas = {}, wrong = {}, agents = {}, asked = 0, taken = 0 }
  local one = assert(skill.check({
    name = "check",
    context = "memory",
    dir = files.dirname(path),
    agents = { default = DRY },
    limits = { max_errors = 1 },
    actions = { { id = "try", max_retries = 0, run = function(_, ctx)
      local class
      tried.done, tried.message, class, tried.fault = script.perform(watched(ctx, tried), {
        source = source,
        name = name,
        args = args,
        limits = { max_agents = MAX_AGENTS, max_agents_parallel = MAX_AGENTS, ask_above = 0 },
        timeout = REST_SECONDS,
        find = workflow.found_by(files.dirname(path)),
        recorded = require("skillrt.skill.workflow.recorded").beside(path),
        options_of = options_of(tried, files.dirname(path)),
        warn = function(text, what)
          if what or is_reference(text) then
            tried.wrong[text] = { code = "workflow." .. (what or "reference"), line = line_in(text) }
          end
        end,
        began = function(meta)
          tried.meta = meta
        end,
      })
      -- node is missing, or ended before it reported what the script is
      tried.fault = tried.fault or class and class ~= "timeout" and not tried.meta
      return nil, class and tried.message or nil, class and "permanent"
    end } },
  }))
  local result, message = runner.run(one, {})
  if not result then
    tried.message, tried.fault = message, true
  end
  return tried
end

local function check_phases(meta, tried, place, found)
  local declared = tables.by(meta and meta.phases, "title")
  for title in pairs(tried.phases) do
    if next(declared) and not declared[title] then
      found:add("workflow.phase", place, ("phase %q is not among those of meta"):format(title))
    end
  end
end

---A script's description of itself, and how many agents it asks in a dry run.
---@param path string
---@param words string[]|nil  its arguments, as they follow `--`
---@return { name: string, description: string, phases: table[], asked: integer, taken: integer, most: integer,
---  agents: { label: string, phase: string? }[], message: string? }|nil
---@return string? message
function M.looked(path, words)
  local source, message = files.read(path, workflow.MAX_SCRIPT)
  if not source then
    return nil, message
  end
  local tried = try(path, source, path:match("[^/]+$"), workflow.argument(words))
  local meta = tried.meta
  if not meta then
    return nil, tried.message
  end
  return { name = meta.name, description = meta.description, phases = meta.phases or {}, asked = tried.asked,
    taken = tried.taken, agents = tried.agents,
    most = limits.default("max_agents"), message = not tried.done and tried.message or nil }
end

---The agents of a script, in the order of a dry run; nil alone: it is no script.
---@param given string|table
---@param words string[]|nil  its arguments
---@return table|nil looked  as above
---@return string? message
function M.flow(given, words)
  if type(given) ~= "string" or not given:find("%.m?[jt]s$") then
    return nil
  end
  local looked, message = M.looked(given, words)
  local threw = looked and looked.message
  if threw then
    return nil, ("%s; in a dry run, where each agent answers at once, with the arguments behind --"):format(threw)
  end
  return looked, not looked and tostring(message) or nil
end

---The subject of a script, with what is wrong with it.
---@param path string
---@param found skillrt.Findings
---@return skillrt.check.Subject|nil subject
---@return string? message
---@return string? code
function M.subject(path, found)
  local loaded, message, code = workflow.load(path, { agent = DRY })
  local place = { file = path }
  local subject = { path = path, dir = files.dirname(path), kind = "workflow" }
  function subject.place()
    return place
  end
  if not loaded and code ~= "invalid" then
    return nil, message, code
  elseif not loaded then
    found:add("workflow.script", place, unplaced(message --[[@as string]]))
    return subject
  end
  local tried = try(path, assert(files.read(path)), path:match("[^/]+$"))
  subject.name = loaded.name
  if not tried.done then
    local kind = tried.fault and "workflow.script" or is_reference(tried.message) and "workflow.reference"
      or "workflow.throws"
    found:add(kind, { file = path, line = line_in(tried.message) }, unplaced(tried.message))
  end
  for _, text in ipairs(names.sorted(tried.wrong)) do
    local what = tried.wrong[text]
    found:add(what.code, { file = path, line = what.line }, unplaced(text))
  end
  for who, why in pairs(tried.schemas) do
    found:add("workflow.schema", place, ("the schema of %s: %s"):format(who, why))
  end
  check_phases(tried.done and tried.meta, tried, place, found)
  subject.is_whole = "is a script, whose flow is code; skillrt run SCRIPT --dry-run shows what it asks for"
  return subject
end

return M
