-- init.lua: the module skillrt: what scripts and hosts may use.
--
-- Names are looked up on first use, so a script that only needs JSON loads only that. Everything here is public and
-- documented in docs/write/skills.md.

-- This file alone is also read by Lua 5.1 and LuaJIT.
if tonumber(_VERSION:match("%d+%.%d+")) < 5.4 then
  error(("skillrt needs Lua 5.4, and this is %s%s; run the script by lua5.4, or by the program skillrt"):format(
    _VERSION, rawget(_G, "jit") and " (LuaJIT)" or ""), 0)
end

local runner -- loaded with the first run

---@class skillrt
---@field skill fun(definition: table): skillrt.Skill  makes a skill; raises where it is wrong
---@field check fun(given: string|table, options: skillrt.check.Options?): skillrt.check.Result?, string?, string?
---@field agent table     command, http, lua, chain
---@field chosen_agent fun(): table?  the agent chosen with --agent, for a script's own `agents`; nil: none was
---@field expr table      compile(text) -> condition
---@field json table      encode, decode, null, array
---@field secret fun(name: string): string  from the environment or a file; removed from everything that is recorded
---@field strategy table  check, resolve, BUILTIN
---@field tool_sets fun(path: string): skillrt.ToolSet[]  those of an agent.yml
---@field template table  render(text, data, partials)
---@field workflow fun(run: function|table): skillrt.Skill  a whole skill in one function(ctx, args)
local M = {}

local MODULES = {
  agent = "skillrt.agent",
  check = "skillrt.document.check",
  expr = "skillrt.expr",
  json = "skillrt.base.json",
  strategy = "skillrt.skill.strategy",
  template = "skillrt.base.template",
}

local function the_runner()
  runner = runner or require("skillrt.run.runner")
  return runner
end

local skill_of = require("skillrt.skill")
local tables = require("skillrt.base.tables")
local methods = skill_of.methods

function skill_of.open(path, options)
  return require("skillrt.document.open").see(path, options, false)
end

local BOOLEAN, TABLE, TEXT = { type = "boolean" }, { type = "table" }, { type = "text" }
-- What a run may be given; no <const>, as Lua 5.1 reads this file.
local RUN = {
  work_dir = TEXT, input = TABLE, args = TABLE, limits = TABLE, watcher = TABLE, session = TEXT, http_module = TEXT,
  strategy = { type = { "text", "function", "table" } },
  agent = { type = { "text", "table" } },
  durability = { enum = { "power", "process" } },
  sandbox = { enum = { "strict", "work", "off" } },
  context = { enum = { "file", "memory" } },
  segment_bytes = { type = "positive" }, books_bytes = { type = "positive" },
}
local OPEN = tables.fill({ resume = BOOLEAN, wait = BOOLEAN, accept_changes = BOOLEAN, accept_edits = BOOLEAN,
  add = TABLE, decide = {} }, RUN)

-- Raises what is wrong with options; a misspelt one would be silently ignored. Input from outside is recorded, so it
-- must be JSON.
local function check_options(options, allowed, method)
  local ok, message = require("skillrt.skill.schema").record(options, allowed, method)
  for _, name in ipairs(ok and { "input", "args" } or {}) do
    if ok and options[name] ~= nil then
      ok, message = require("skillrt.base.json").encode(options[name], { name = name })
      message = not ok and method .. ": " .. message or nil
    end
  end
  if not ok then
    error(message, 3)
  end
end

---Runs the skill to its end, or until it pauses.
---@param options skillrt.RunOptions?
---@return skillrt.Result|nil result
---@return string? message
---@return string? code
function methods:run(options)
  if options ~= nil then
    check_options(options, RUN, "skill:run")
  end
  local loaded = self.loaded
  return (loaded and loaded.run or the_runner().run)(self, options)
end

---Opens a run that the caller advances in a loop of its own (docs/embed.md); resume = true: the run in work_dir.
---@param options skillrt.RunOptions?
---@return skillrt.OpenRun|nil run
---@return string? message
---@return string? code
function methods:open(options)
  options = options or {}
  check_options(options, OPEN, "skill:open")
  if options.resume and not options.work_dir then
    error("skill:open: resume needs work_dir", 2)
  end
  local loaded = self.loaded
  if loaded and loaded.sees then
    return loaded.run(self)
  end
  return require("skillrt.cli.open_run").open(self, tables.fill({}, options))
end

-- A constructor that is looked up each time, so that it knows the script's line, and whether that script is the one
-- that the program `lua` runs.
local function constructor(make)
  local new, arguments = require("skillrt.skill").at(3), rawget(_G, "arg")
  local is_main = type(arguments) == "table" and arguments[0] and not debug.getinfo(5, "S")
    and debug.getinfo(3, "S").source == "@" .. arguments[0]
  if not (make or is_main) then
    return new
  end
  return function(definition)
    local skill = (make or new)(definition, new)
    if is_main then
      require("skillrt.cli.main_script").run(arguments)
    end
    return skill
  end
end

---A skill from a script, a configuration or a folder.
---@param path string
---@param options skillrt.load.Options?  agent = who performs the steps of what is no script
---@return skillrt.Skill|nil skill
---@return string? message
---@return string? code
---@return skillrt.Finding[]|nil findings  what could not be read, or was read another way
function M.load(path, options)
  return require("skillrt.document.open").load(path, options, false)
end

---A skill from a skill-config: the path of its file, or the decoded table.
---@param config string|table
---@param options skillrt.load.ConfigOptions?  agents = { [type or tool or "*"] = agent }
---@return skillrt.Skill|nil skill
---@return string? message
---@return string? code
function M.from_config(config, options)
  local load_config = require("skillrt.document.load.config")
  if type(config) == "string" then
    return load_config.from_path(config, options)
  end
  return load_config.skill(config, options)
end

-- The caller may do everything already, so no approval is asked for.
local function go_on(work_dir, options, more, method)
  if type(work_dir) ~= "string" then
    error(("%s: the run's directory must be a text, not %s"):format(method,
      require("skillrt.base.names").show(work_dir)), 3)
  end
  local allowed = tables.fill({ skill = TABLE, action = TEXT, script = TEXT }, OPEN)
  for _, name in ipairs(the_runner().OF_SESSION) do
    allowed[name] = allowed[name] or {}
  end
  check_options(options or {}, allowed, method)
  local all = { person = false }
  for _, list in ipairs({ options or {}, more or {} }) do
    for key, value in pairs(list) do
      all[key] = value
    end
  end
  all.action = nil
  return require("skillrt.document.reopen").go_on(work_dir, all)
end

---@class skillrt.ResumeOptions
---@field skill skillrt.Skill?      default: from the script that the journal names
---@field accept_changes boolean?  resume although script, prompts or strategy changed
---@field accept_edits boolean?    accept a hand-edited state.json
---@field answer any               answers the open question
---@field add table<string, number>?  raises limits: { calls = 50, ["usage.tokens"] = 100000 }
---@field from string?             run the phases again from this one on

---Resumes a paused or interrupted run; loads the skill from the script that the journal names, unless options.skill
---is given.
---@param work_dir string
---@param options skillrt.ResumeOptions|nil
---@return skillrt.Result|nil result
---@return string? message
---@return string? code
function M.resume(work_dir, options)
  return go_on(work_dir, options, nil, "skillrt.resume")
end

---Retries the last failed step of a run (R70), or that of an action or phase.
---@param work_dir string
---@param options table|nil  as for resume; action: its id
---@return skillrt.Result|nil result
---@return string? message
---@return string? code
function M.retry(work_dir, options)
  local action = type(options) == "table" and options.action
  return go_on(work_dir, options, { retry = action or true }, "skillrt.retry")
end

---The program's version.
M.version = require("skillrt.core").version

return setmetatable(M, {
  __index = function(_, key)
    if key == "skill" then
      return (constructor())
    elseif key == "workflow" then
      return (constructor(require("skillrt.skill.workflow").of))
    elseif key == "chosen_agent" then
      return require("skillrt.document.load.config_agents").chosen
    elseif key == "tool_sets" then
      return require("skillrt.document.load.agent_yml").from_path
    elseif key == "secret" then
      return require("skillrt.base.secrets").get
    elseif key == "generate" then
      return require("skillrt.document.generate").generate
    end
    local name = MODULES[key]
    if name then
      local module = require(name)
      rawset(M, key, module)
      return module
    end
  end,
})
