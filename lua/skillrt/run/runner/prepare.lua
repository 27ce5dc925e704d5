-- run/runner/prepare.lua: prepares a skill for one run: finds its strategy, pins its files, and makes the mode that
-- chooses. Knows no journal and no engine. Called by runner.lua.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local limits_of = require("skillrt.skill.limits")
local outline = require("skillrt.base.outline")
local sandbox = require("skillrt.skill.sandbox")
local skill_of = require("skillrt.skill")
local strategy = require("skillrt.skill.strategy")

local M = {}

-- Loads strategies: a file of the author's (relative to the skill, without following links), else a built-in one. Any
-- other path was typed, or built by a script, which may open what it likes.
local function strategy_loader(dir, is_typed)
  local function read(name)
    if files.is_confined(name) and not is_typed then
      return files.kept(dir, name)
    end
    return files.read(files.join(dir, name), nil, true)
  end
  return function(name)
    if name:find("[/.]") then
      local path = files.join(dir, name)
      local text, message, code = read(name)
      if not text then
        return nil, message, code
      end
      return text, path
    end
    local ours = core.asset("strategies/" .. name .. ".lua")
    if ours then
      return ours, name
    end
    name = "strategies/" .. name .. ".lua"
    local path = files.join(dir, name)
    local text, message, code = read(name)
    if text then
      return text, path
    end
    return nil, code ~= "missing" and message or nil, code
  end
end

local MAXIMUM <const> = 4 << 20 -- bytes of a document that is read completely

local function refused(skill, path, problem, code)
  local message = "%s: %s; %s requires it before its first step: write it, or remove it from specs"
  return nil, message:format(path, problem, skill.name), code
end

-- Reads the specs and the config that a skill was made from: no run starts without them (F15); passes their texts to
-- `keep`.
local function read_specs(skill, keep)
  for _, path in ipairs(skill.specs or {}) do
    local there = files.join(skill.dir, path)
    local text, message, code = files.kept(skill.dir, path, MAXIMUM)
    if not text then
      local absent = not files.stat(there)
      return refused(skill, there, absent and "is missing" or message:sub(#there + 3), absent and "missing" or code)
    elseif not text:find("%S") then
      return refused(skill, there, "is empty", "invalid")
    elseif outline.is(text) then
      return refused(skill, there, "is an outline that is not filled in", "invalid")
    end
    keep(path, text)
  end
  if skill.config then
    local text, message, code = files.kept(files.dirname(skill.config), skill.config:match("[^/]+$"))
    if not text then
      return nil, message, code
    end
    keep(skill.config:match("[^/]+$"), text)
  end
  return true
end

-- The digests of everything that decides: script, prompts, specs, strategy (R23, DESIGN "The journal pins").
local function pins_of(skill)
  local pins, prompts = {}, {}
  local function pin(name, text)
    pins[name] = core.sha256(text)
  end
  if skill.source then
    local text, message, code = files.read(skill.source, nil, true)
    if not text then
      return nil, message, code
    end
    pin(skill.source:match("[^/]+$"), text)
  end
  if skill.script_text then
    pin(skill.script_text.name, skill.script_text.text)
  end
  for name, digest in pairs(skill.loaded and skill.loaded.pins or {}) do
    pins[name] = digest
  end
  if skill.strategy.text then
    pin("strategy " .. skill.strategy.name, skill.strategy.text)
  end
  local ok, problem, cause = read_specs(skill, function(name, text)
    prompts[name] = text
    pin(name, text)
  end)
  if not ok then
    return nil, problem, cause
  end
  for _, path in ipairs(skill.documents or {}) do
    local text, message, code = files.kept(skill.dir, path)
    if not text then
      return nil, message, code
    end
    pin(path, text)
  end
  for _, list in ipairs({ skill.actions, skill.phases, skill.tool_sets }) do
    for _, one in ipairs(list) do
      local prompt = one.prompt
      if prompt and not prompt:find("[\n ]") and not prompts[prompt] then
        local text, message, code = files.kept(skill.dir, prompt)
        if not text then
          return nil, ("%s: prompt %s"):format(one.id, message), code
        end
        prompts[prompt] = text
        pin(prompt, text)
      end
    end
  end
  return pins, prompts
end

---The mode that chooses in a run.
---@param run skillrt.Run
---@return table mode
function M.mode(run)
  local skill, books = run.skill, run.books
  local looks = {
    exists = function(name)
      return run.store:stat(name) ~= nil
    end,
  }
  if skill.mode == "sequential" then
    return require("skillrt.mode.sequential").new(skill, books, looks)
  end
  local ctx = {
    input = books.input,
    work_dir = run.store:path(),
    options = skill.strategy.options,
    interaction = skill.interaction,
    ask_on_tie = skill.ask_on_tie,
    now = core.wall_ms,
    random = core.random,
  }
  if skill.mode == "machine" then
    return require("skillrt.mode.machine").new(skill, books, ctx)
  elseif skill.mode == "hybrid" then
    return require("skillrt.mode.hybrid").new(skill, books, looks, ctx)
  end
  return require("skillrt.mode.autonomous").new(skill, books, ctx)
end

-- A strategy given for this run, in a form that a resume finds again: a name, or a file's full path.
---@param given any
---@return string?
function M.strategy_name(given)
  if type(given) ~= "string" then
    return nil
  end
  return given:find("[/.]") and files.join(files.current(), given) or given
end

-- The message for a skill with a step that no agent performs.
local function agent_missing(skill)
  local message = "%s: no agent is chosen%s; next:\n"
    .. "skillrt agents                              lists the agents on this machine\n"
    .. "skillrt run FOLDER --agent claude -- TASK   runs it with one of them\n"
    .. "SKILLRT_AGENT=claude in the environment, or { \"agent\": \"claude\" } in ~/.config/skillrt/config.json, "
    .. "for every run"
  local names = table.concat(skill.missing, ", ") -- an agent that takes any name is not worth a line
  return message:format(skill.name, names ~= "universal-executor" and " for " .. names or "")
end

---The given agent in the form that the journal records, so that a resume finds it again; without an address that may
---hold a secret.
---@param given string|string[]|nil
---@return string|string[]|nil
function M.agent_name(given)
  if type(given) == "string" and given:find("[@?]") then
    return nil
  end
  return given
end

-- How steps are retried, by the limits of this run.
local function with_retries(retry, limits)
  return setmetatable({ max_retries = limits.max_retries }, { __index = retry })
end

---A copy of the skill with the strategy found and the options applied.
---@param skill skillrt.Skill
---@param options table  { strategy, durability, context, limits, sandbox }
---@return table|nil prepared
---@return table|string pins_or_message
---@return table|string|nil prompts_or_code
function M.skill(skill, options)
  if not skill_of.is(skill) then
    error("skillrt: run needs a skill made by skillrt.skill", 3)
  elseif skill.missing and not (skill.missing[1] == "agent()" and skill.agents.default) then -- a host may add it
    return nil, agent_missing(skill), "invalid"
  elseif options.strategy and skill.mode == "sequential" then
    return nil, ("%s: its phases run in their order, and no strategy chooses one"):format(skill.name), "invalid"
  end
  local chosen = options.strategy or skill.strategy
  local from = options.strategy and files.current() or skill.dir
  local found, message, code = strategy.resolve(chosen, strategy_loader(from, options.strategy ~= nil),
    skill.guest and not options.strategy and function(...) return (skill.guest:run(...)) end)
  if not found then
    return nil, message, code
  end
  local limits = skill.limits
  if options.limits then
    limits, message = limits_of.with(limits, options.limits)
    if not limits then
      return nil, ("%s: %s"):format(skill.name, message), "invalid"
    end
  end
  local override = options.sandbox
  if not override then
    override, message = sandbox.of_environment()
    if message then
      return nil, message, "invalid"
    end
  end
  local here = files.current()
  local prepared = setmetatable({
    dir = skill.dir == "." and here or files.join(here, skill.dir), -- it is fixed, even if somebody changes the folder
    strategy = found,
    durability = options.durability or skill.durability,
    sandbox_override = override,
    context = options.context or skill.context,
    limits = limits,
    retry = limits ~= skill.limits and with_retries(skill.retry, limits) or nil,
  }, { __index = skill })
  local pins, prompts, cause = pins_of(prepared)
  if not pins then
    return nil, prompts, cause
  end
  return prepared, pins, prompts
end

return M
