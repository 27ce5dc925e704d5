-- host.lua: what the C library (skillrt.h) asks of Lua: open a run, say what became of it.
--
-- A host steps the run itself; nothing here waits or prints. Called by csrc/lua/skillrt.c.

local again = require("skillrt.document.reopen")
local core = require("skillrt.core")
local json = require("skillrt.base.json")
local open = require("skillrt.document.open")
local runner = require("skillrt.run.runner")
local skill_of = require("skillrt.skill")
local views = require("skillrt.run.views")

local M = {}

local self -- the policy of the open run

-- Hands each record to the host, once it is durable.
local function watcher_for(on_record)
  local waiting = {}
  return {
    observe = function(entry)
      waiting[#waiting + 1] = json.encode(entry)
    end,
    flush = function()
      for i = 1, #waiting do
        local text = waiting[i]
        waiting[i] = nil
        on_record(text)
      end
    end,
    forget = function()
      waiting = {}
    end,
  }
end

local function skill_from(path)
  local skill, message = open.load(path)
  if not skill then
    return nil, message
  elseif not skill_of.is(skill) then
    return nil, path .. ": ran its skill itself; a script for a host must return the skill"
  end
  return skill
end

---@param options table  the fields of struct skillrt_options
---@return userdata|nil run  the core's
---@return string work_dir_or_message
function M.open(options)
  local settings = { work_dir = options.work_dir, http_module = options.http_module }
  settings.watcher = options.on_record and watcher_for(options.on_record)
  if options.input_json then
    local input, message = json.decode(options.input_json)
    if type(input) ~= "table" then
      return nil, "input_json: " .. (message or "must be an object")
    end
    settings.input = input
  end
  local run, report, policy
  if options.resume then
    settings.accept_changes, settings.answer = options.accept_changes, options.answer
    settings.script = options.script
    local skill, message = again.skill_for(options.work_dir, settings, skill_from)
    if not skill then
      return nil, message
    end
    run, report, policy = runner.take_up(skill, settings)
  else
    local skill, message = skill_from(options.script)
    if not skill then
      return nil, message
    end
    run, report, policy = runner.begin(skill, settings)
  end
  if not run then
    return nil, report --[[@as string]]
  end
  self = policy
  return run, policy.work_dir
end

---@return string
function M.message()
  return self.books.message or ""
end

---The present state as compact JSON.
---@return string
function M.state_json()
  return assert(json.encode(views.state(self.books)))
end

M.version = core.version

return M
