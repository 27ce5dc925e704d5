-- cli/host.lua: what the C library (skillrt.h) asks of Lua: open a run, report how it ended.
--
-- The host steps the run itself; nothing here waits or prints. One Lua state may hold many runs. Called by
-- csrc/lua/skillrt.c.

local asked = require("skillrt.run.books.questions")
local again = require("skillrt.document.reopen")
local agent_of = require("skillrt.cli.agent")
local amounts_of = require("skillrt.cli.settings").amounts
local core = require("skillrt.core")
local json = require("skillrt.base.json")
local load_notes = require("skillrt.cli.load_notes")
local look = require("skillrt.run.look")
local names = require("skillrt.base.names")
local open = require("skillrt.document.open")
local questions = require("skillrt.run.questions")
local runner = require("skillrt.run.runner")
local script_of = require("skillrt.document.script")
local store = require("skillrt.run.store")
local tables = require("skillrt.base.tables")
local trust = require("skillrt.document.trust")
local views = require("skillrt.run.views")

local M = {}

-- A question in the form that the host gets.
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

-- Passes each record and question to the host once it is durable, and the output of running calls.
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

-- Reads the script: a file, or the text that the host gave.
local function loader(options)
  return function(path, more, person)
    local skill, message, code, findings, runs
    if options.script_text then
      skill, message, code, findings, runs = script_of.run_text(options.script_text, path,
        tables.fill({ sees = true }, more))
    else
      skill, message, code, findings, runs = open.see(path, more, person)
    end
    if not skill then
      return nil, message, code
    elseif runs then
      return nil, path .. ": runs its skill itself; a script for a host must return the skill"
    end
    return skill, nil, nil, findings
  end
end

local GIVEN <const> = { "work_dir", "http_module", "strategy", "durability", "sandbox", "context", "args", "wait",
  "interrupt", "park_ms", "shift" }
local AGAIN <const> = { "script", "answer", "accept_changes", "accept_edits", "retry", "from", "decide", "yes" }

-- Amounts as the command line takes them; `name` is of the option.
local function take_amounts(options, settings, name)
  local amounts, message = amounts_of(options[name], name .. ":")
  settings[name] = amounts
  return not message, message
end

-- Whom the gate asks: a host without a callback for it has itself approved what it names.
---@return skillrt.Person|false|nil person
---@return string? message
local function person_of(options)
  local wanted = options.trust
  if not wanted then
    return false
  elseif wanted ~= "known" and wanted ~= "remember" then
    return nil, ('trust: is "known" or "remember", not %s'):format(names.show(wanted))
  end
  return { decide = function(code, path)
    if wanted == "remember" then
      return trust.remember(code, path)
    end
    local text = "%s: contains code that has not been approved:\n%s\n"
      .. 'look at it, then approve it with trust = "remember"'
    return nil, text:format(path, table.concat(trust.lines(code), "\n")), "changed"
  end }
end

-- The options of a run in the runner's form; or nil and a message.
local function settings_of(options)
  local settings = {}
  for _, name in ipairs(GIVEN) do
    settings[name] = options[name]
  end
  local message, ok
  if options.on_record or options.on_progress or options.on_question then
    settings.watcher = watcher_for(options.on_record, options.on_progress, options.on_question)
  end
  if options.log or options.traces then
    settings.watcher, message = require("skillrt.report.watch").of_host(options, settings.watcher)
    if not settings.watcher then
      return nil, message
    end
  end
  if options.input_json then
    settings.input, message = json.decode(options.input_json)
    if not json.is_object(settings.input) then
      return nil, "input_json: " .. (message or "must be an object")
    end
  end
  settings.agent, message = agent_of.read(options.agent, options.agent_env)
  if message then
    return nil, (message:gsub("%-%-agent%-env", "agent_env"):gsub("%-%-", ""))
  end
  settings.agent = options.dry_run and { kind = "dry" } or settings.agent
  settings.person, message = person_of(options)
  if message then
    return nil, message
  end
  for _, name in ipairs { "limits", "add" } do
    ok, message = take_amounts(options, settings, name)
    if not ok then
      return nil, message
    end
  end
  return settings
end

local function take_up(options, settings)
  if not options.work_dir then
    return nil, "work_dir: must name the directory of the run to resume"
  elseif settings.limits then
    return nil, "limits: a run keeps those that it began with; add raises them"
  end
  for _, name in ipairs(AGAIN) do
    settings[name] = options[name] or nil
  end
  if options.script_text then
    settings.script = options.script or "script"
  end
  settings.sees = true
  local skill, message, code = again.skill_for(options.work_dir, settings, loader(options))
  if not skill then
    return nil, message, code
  end
  return runner.take_up(skill, settings)
end

local function begin(options, settings)
  if not (options.script or options.script_text) then
    return nil, "script: must name a script, a folder or a configuration"
  elseif settings.add then
    return nil, "add: raises limits when a run is resumed; for a new run use limits"
  end
  local skill, message, code, findings = loader(options)(options.script or "script", { agent = settings.agent },
    settings.person)
  if not skill then
    return nil, message, code
  end
  local refused = type(findings) == "table" and load_notes.refused(findings, options.strict)
  if refused then
    return nil, (refused:gsub("^%-%-", "")), "invalid"
  end
  return runner.begin(skill, settings)
end

---@class skillrt.Hosted  an open run; a parked (unloaded) run is known by its folder
---@field run userdata        the core's
---@field turn skillrt.Turn
---@field work_dir string     absolute

---@param options table  the fields of struct skillrt_options
---@return skillrt.Hosted|nil hosted
---@return string? message
---@return string? code
function M.open(options)
  local settings, problem = settings_of(options)
  if not settings then
    return nil, problem, "invalid"
  end
  local run, report, turn = (options.resume and take_up or begin)(options, settings)
  if not run then
    return nil, report --[[@as string]], turn or "invalid" --[[@as string]]
  end
  return { run = run, turn = turn, work_dir = turn.run.store.place }
end

---When a run that paused to wait resumes automatically.
---@param hosted skillrt.Hosted
---@return integer|nil utc  ms
function M.due(hosted)
  return hosted.turn.books.due
end

-- What is known of a run, open or not.
local function books_of(hosted)
  if type(hosted) == "string" then
    return (assert(look.books(hosted)))
  end
  return hosted.turn.books
end

---@param hosted skillrt.Hosted|string
---@return string  more about why it stopped
function M.message(hosted)
  local trouble = type(hosted) == "table" and hosted.turn.trouble
  return books_of(hosted).message or trouble or ""
end

---@param hosted skillrt.Hosted|string
---@return string  the present state as compact JSON
function M.state_json(hosted)
  return assert(json.encode(views.state(books_of(hosted))))
end

---@param hosted skillrt.Hosted|string
---@return table[]  the open questions
function M.questions(hosted)
  local list = json.array({})
  for i, question in ipairs(asked.list(books_of(hosted))) do
    list[i] = shown(question)
  end
  return list
end

---@param hosted skillrt.Hosted|string
---@return string
function M.questions_json(hosted)
  return assert(json.encode(M.questions(hosted)))
end

-- A message from outside, given to a run under way; for a run that has stopped, is about to, or is parked (unloaded),
-- it stays in the inbox.
local function hand_over(hosted, kind, entry)
  if type(hosted) == "string" then
    return store.at(hosted):put(entry, true)
  end
  local run, turn = hosted.run, hosted.turn
  if run:status() == "" then
    local ok, message, code = run:event(kind, assert(json.encode(entry)))
    if ok or code ~= "stopped" or turn.run.keeps_nothing then
      return ok, message
    end
  elseif turn.run.keeps_nothing then
    return nil, ("%s: the run has stopped, and recorded nothing to resume from"):format(turn.books.run_id)
  end
  local name, why = turn.run.store:put(entry)
  return name and true, why or "lies"
end

local function decoded(text, what)
  local value, problem = json.decode(text)
  if value == nil then
    return nil, ("%s: %s"):format(what, problem)
  end
  return value
end

---@param hosted skillrt.Hosted|string
---@param name string
---@param text string|nil  JSON
---@param id string|nil
---@return boolean|string|nil ok
---@return string? message  or "lies": it is in the inbox until the run is resumed
function M.event(hosted, name, text, id)
  local problem = names.problem_of_event(name)
  if problem then
    return nil, problem
  end
  local value, why = decoded(text or "true", name)
  if value == nil then
    return nil, why
  end
  return hand_over(hosted, "event", { event = name, value = value, id = id })
end

---@param hosted skillrt.Hosted|string
---@param number string
---@param text string  JSON
---@param nonce string|nil
---@return boolean|string|nil ok
---@return string? message  as of event
function M.answer(hosted, number, text, nonce)
  local value, why = decoded(text, "answer")
  if value == nil then
    return nil, why
  end
  local answer = { question = tonumber(number), value = value, nonce = nonce }
  local found
  found, why = questions.find(books_of(hosted), answer)
  if not found then
    return nil, why
  end
  return hand_over(hosted, "answer", { answer = value, question = answer.question, nonce = nonce })
end

---Called before this Lua state closes: waits for what is still being sent besides runs.
function M.close()
  local traces = package.loaded["skillrt.report.traces"]
  if traces then
    traces.close()
  end
end

M.version = core.version

return M
