-- host.lua: what the C library (skillrt.h) asks of Lua: open a run, say what became of it.
--
-- A host steps the run itself; nothing here waits or prints. One Lua state may hold many runs.
-- Called by csrc/lua/skillrt.c.

local asked = require("skillrt.run.books.asked")
local again = require("skillrt.document.reopen")
local agent_of = require("skillrt.cli.agent")
local core = require("skillrt.core")
local inbox = require("skillrt.run.inbox")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local open = require("skillrt.document.open")
local questions = require("skillrt.run.questions")
local runner = require("skillrt.run.runner")
local single = require("skillrt.base.single")
local script_of = require("skillrt.document.script")
local skill_of = require("skillrt.skill")
local views = require("skillrt.run.views")

local M = {}

-- A question as the host has it.
local function shown(entry)
  return {
    question = entry.q,
    text = entry.question.question,
    options = entry.question.options,
    schema = entry.question.schema,
    nonce = entry.nonce,
    due = entry.due,
    step = entry.step,
  }
end

-- Hands each record and question to the host, once it is durable, and what running calls say.
local function watcher_for(on_record, on_progress, on_question)
  local waiting = {}
  local function nothing() end
  local watcher = { progress = on_progress, observe = nothing, flush = nothing }
  if on_record or on_question then
    function watcher.observe(entry)
      if on_record then
        waiting[#waiting + 1] = { on_record, json.encode(entry) }
      end
      if on_question and entry.q and entry.question then
        waiting[#waiting + 1] = { on_question, json.encode(shown(entry)) }
      end
    end
    function watcher.flush()
      local list = waiting
      waiting = {}
      for _, told in ipairs(list) do
        told[1](told[2])
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

local GIVEN <const> = { "work_dir", "http_module", "strategy", "durability", "context", "args", "wait" }
local AGAIN <const> = { "script", "answer", "accept_changes", "accept_edits", "retry", "from", "decide", "yes", "add" }

-- The options of a run as the runner has them; nil and a message.
local function settings_of(options)
  local settings = {}
  for _, name in ipairs(GIVEN) do
    settings[name] = options[name]
  end
  if options.on_record or options.on_progress or options.on_question then
    settings.watcher = watcher_for(options.on_record, options.on_progress, options.on_question)
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
---@field questions_json fun(): string  the open questions
---@field event fun(name: string, value: string|nil, id: string|nil): boolean?, string?   value: JSON
---@field answer fun(number: string, value: string, nonce: string|nil): boolean?, string?

-- What comes from outside, handed to a run that goes on; for one that has stopped it lies in its inbox.
local function hand_over(run, policy, kind, entry)
  if run:status() == "" then
    local ok, message = run:event(kind, assert(json.encode(entry)))
    return ok, message
  elseif policy.run.keeps_nothing then
    return nil, ("%s: the run has stopped, and kept nothing to go on from"):format(policy.books.run_id)
  end
  return inbox.put(policy.work_dir, entry)
end

local function decoded(text, what)
  local value, problem = json.decode(text)
  if value == nil then
    return nil, ("%s: not JSON: %s"):format(what, problem)
  end
  return value
end

local function give_event(run, policy, name, text, id)
  local problem = names.problem_of_event(name)
  if problem then
    return nil, problem
  end
  local value, why = decoded(text or "true", name)
  if value == nil then
    return nil, why
  end
  return hand_over(run, policy, "event", { event = name, value = value, id = id })
end

local function give_answer(run, policy, number, text, nonce)
  local value, why = decoded(text, "answer")
  if value == nil then
    return nil, why
  end
  local answer = { question = tonumber(number), value = value, nonce = nonce }
  local found
  found, why = questions.find(policy.books, answer)
  if not found then
    return nil, why
  end
  return hand_over(run, policy, "answer", { answer = value, question = answer.question, nonce = nonce })
end

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
    questions_json = function()
      local list = json.array({})
      for i, question in ipairs(asked.list(policy.books)) do
        list[i] = shown(question)
      end
      return assert(json.encode(list))
    end,
    event = function(name, value, id)
      return give_event(run, policy, name, value, id)
    end,
    answer = function(number, value, nonce)
      return give_answer(run, policy, number, value, nonce)
    end,
  }
end

M.version = core.version

return M
