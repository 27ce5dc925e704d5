-- host.lua: what the C library (skillrt.h) asks of Lua: open a run, say what became of it.
--
-- A host steps the run itself; nothing here waits or prints. One Lua state may hold many runs.
-- Called by csrc/lua/skillrt.c.

local again = require("skillrt.document.reopen")
local agent_of = require("skillrt.cli.agent")
local core = require("skillrt.core")
local json = require("skillrt.base.json")
local open = require("skillrt.document.open")
local runner = require("skillrt.run.runner")
local single = require("skillrt.base.single")
local script_of = require("skillrt.document.script")
local skill_of = require("skillrt.skill")
local views = require("skillrt.run.views")

local M = {}

-- Hands each record to the host, once it is durable, and what running calls say.
local function watcher_for(on_record, on_progress)
  local waiting = {}
  local function nothing() end
  local watcher = { progress = on_progress, observe = nothing, flush = nothing }
  if on_record then
    function watcher.observe(entry)
      waiting[#waiting + 1] = json.encode(entry)
    end
    function watcher.flush()
      for i = 1, #waiting do
        local text = waiting[i]
        waiting[i] = nil
        on_record(text)
      end
    end
    function watcher.forget()
      waiting = {}
    end
  end
  return watcher
end

-- What reads the script: a file, or the text that the host gave.
local function loader(options)
  return function(path, more)
    local skill, message
    if options.script_text then
      skill, message = script_of.run_text(options.script_text, path, more and more.drawn)
    else
      skill, message = open.load(path, more)
    end
    if not skill then
      return nil, message
    elseif not skill_of.is(skill) then
      return nil, path .. ": ran its skill itself; a script for a host must return the skill"
    end
    return skill
  end
end

local GIVEN <const> = { "work_dir", "http_module", "strategy", "durability", "context", "args" }
local AGAIN <const> = { "script", "answer", "accept_changes", "accept_edits", "retry", "from", "decide", "yes", "add" }

-- The options of a run as the runner has them; nil and a message.
local function settings_of(options)
  local settings = {}
  for _, name in ipairs(GIVEN) do
    settings[name] = options[name]
  end
  if options.on_record or options.on_progress then
    settings.watcher = watcher_for(options.on_record, options.on_progress)
  end
  if options.input_json then
    local input, message = json.decode(options.input_json)
    if type(input) ~= "table" or json.is_array(input) then
      return nil, "input_json: " .. (message or "must be an object")
    end
    settings.input = input
  end
  local message
  settings.agent, message = agent_of.read(options.agent)
  if message then
    return nil, (message:gsub("^%-%-", ""))
  end
  return settings
end

local function take_up(options, settings)
  if not options.work_dir then
    return nil, "work_dir: must name the directory of the run that is to go on"
  end
  for _, name in ipairs(AGAIN) do
    settings[name] = options[name] or nil
  end
  if options.script_text then
    settings.script = options.script or "script"
  end
  local skill, message = again.skill_for(options.work_dir, settings, loader(options))
  if not skill then
    return nil, message
  end
  return runner.take_up(skill, settings)
end

local function begin(options, settings)
  if not (options.script or options.script_text) then
    return nil, "script: must name a script, a folder or a configuration"
  end
  local skill, message = loader(options)(options.script or "script", { agent = settings.agent })
  if not skill then
    return nil, message
  end
  return runner.begin(skill, settings)
end

---@class skillrt.Hosted
---@field run userdata        the core's
---@field work_dir string     absolute
---@field message fun(): string     more about why it stopped
---@field state_json fun(): string  the present state as compact JSON

---@param options table  the fields of struct skillrt_options
---@return skillrt.Hosted|nil hosted
---@return string? message
function M.open(options)
  single.many = options.shared
  local settings, problem = settings_of(options)
  if not settings then
    return nil, problem
  end
  local run, report, policy = (options.resume and take_up or begin)(options, settings)
  if not run then
    return nil, report --[[@as string]]
  end
  return {
    run = run,
    work_dir = policy.work_dir,
    message = function()
      return policy.books.message or ""
    end,
    state_json = function()
      return assert(json.encode(views.state(policy.books)))
    end,
  }
end

M.version = core.version

return M
