-- sim.lua: what the processes of the simulator do in Lua: an episode of a run, and the audit behind it.
--
-- Loaded once by sim.c with all that a run needs, then forked. The globals `episode` and `audit` are what a child
-- calls; the global `sim` is the world.

-- luacheck: read globals sim
-- luacheck: globals episode audit

local dir = "tests/sim/"
local asked = require "skillrt.run.books.asked"
local json = require "skillrt.base.json"
local record = require "skillrt.base.record"
local runner = require "skillrt.run.runner"
local core = require "skillrt.core"
-- A skill whose code came from a file would pin it, and that file is not on the simulated disk.
local function load_unnamed(path)
  local file <close> = assert(io.open(path, "rb"))
  return assert(load(file:read "a", "=" .. path:match "[^/]+$"))()
end

local skills = load_unnamed(dir .. "skills.lua")
local model = dofile(dir .. "model.lua")
local summary = dofile "tests/support/crash_audit.lua"

local RUN <const> = "/run"

-- All records of the run's journal, those of a batch one by one.
local function records()
  local list, store = {}, {}
  local report, message, code = core.read(RUN, function(payload)
    list[#list + 1] = assert(record.decode(payload, function(digest)
      return assert(store.blob(digest))
    end))
  end, store)
  return report and list, message, code
end

-- Says each record to the world once it is durable, as people who watch would hear of it.
local function watcher()
  local waiting = {}
  return {
    observe = function(entry)
      waiting[#waiting + 1] = json.encode(entry)
    end,
    flush = function()
      for _, text in ipairs(waiting) do
        sim.reported(text)
      end
      waiting = {}
    end,
    forget = function()
      waiting = {}
    end,
  }
end

-- The label of a call, as its declaration named it.
local function label_of(list, step, c)
  for i = #list, 1, -1 do
    local entry = list[i]
    if entry.t == "call" and entry.step == step and entry.c == c then
      return entry.label
    end
  end
end

-- A person lets the call of a question be sent again. Where a power cut took its record, it may be any that the
-- journal does not know.
local function allow(list, question)
  local label = label_of(list, question.step, question.c)
  if label then
    sim.allow(label)
    return
  end
  local recorded = {}
  for _, entry in ipairs(list) do
    recorded[entry.label or ""] = true
  end
  for _, one in ipairs(sim.sent()) do
    if not recorded[one.label] then
      sim.allow(one.label)
    end
  end
end

-- Whether a question asks what to do about a call whose outcome is unknown.
local function is_about_outcome(list, question)
  for _, entry in ipairs(list) do
    if entry.q == question.q and (entry.t == "ask" or entry.t == "doubt") then
      return question.c ~= nil
    end
  end
  return false
end

local DECISIONS <const> = { "retry", "skip", "fail" }

-- What people do about a run that stopped: the options of the resume that follows.
local function decisions(skill, rough)
  local list, message, code = records()
  if not list then
    return nil, message, code
  end
  local books, last = runner.read(RUN)
  if not books then
    return nil, last
  end
  local options = { answers = {} }
  for _, one in ipairs(asked.list(books)) do
    local value = "yes"
    if is_about_outcome(list, one) then
      value = rough and DECISIONS[sim.draw(3) + 1] or "retry"
      if value == "retry" then
        allow(list, one)
        for _, more in ipairs(one.also or {}) do -- one question for all calls of an interruption
          allow(list, more)
        end
      end
    elseif one.question.options then
      value = one.question.options[rough and sim.draw(#one.question.options) + 1 or 1].id
    end
    sim.note(("answer %d: %s"):format(one.q, value))
    table.insert(options.answers, { question = one.q, value = value, nonce = one.nonce })
  end
  local stop
  for _, entry in ipairs(list) do
    stop = entry.t == "stop" and entry or (entry.t ~= "resume" and stop or nil)
  end
  if stop and stop.status == "failed" then -- to retry is to allow what the last failure blames
    options.retry = true
    local failure
    for _, entry in ipairs(list) do
      failure = entry.t == "fail" and not entry.retry and entry or failure
    end
    local label = failure and failure.blame and label_of(list, failure.step, failure.blame)
    if label then
      sim.allow(label)
    end
    sim.note("retry " .. tostring(label))
  end
  if stop and stop.due then
    sim.later(math.max(0, stop.due - core.wall_ms()) / 1000 + 1)
  end
  if stop and stop.limit then
    options.add = { [stop.limit] = 10 }
  end
  if #options.answers == 0 then
    options.answers = nil
  end
  return options, skill
end

-- Why there is no run: it died before it was anything, it is over, or something is wrong.
local function refused(message, code)
  message = tostring(message)
  local nothing = message:find("holds no ", 1, true)
  local over = message:find "the run is %a+ed" or message:find("nothing to retry", 1, true)
  return { error = message, code = nothing and "nothing" or over and "over" or tostring(code) }
end

function episode(seed, resume, rough)
  local skill = skills.draw(seed, rough)
  sim.durable(skill.durability == "power")
  local options = { watcher = watcher(), work_dir = RUN, http_module = "simulated", run_id = "sim" }
  local run, report, self
  if resume then
    local more, message, code = decisions(skill, rough)
    if not more then
      return refused(message, code)
    end
    for key, value in pairs(more) do
      options[key] = value
    end
    run, report, self = runner.take_up(skill, options)
  else
    run, report, self = runner.begin(skill, options)
  end
  if not run then
    return refused(report, self)
  end
  run:wait()
  local status, reason, message = run:status()
  local result = { status = status, reason = reason, message = message or self.books.message }
  run:close()
  return result
end

function audit(seed, _, rough)
  if os.getenv "SHOW" then
    for _, entry in ipairs(records() or {}) do
      sim.note(json.encode(entry))
    end
  end
  local text, lost, duplicated = summary(RUN, sim.records(), true)
  if lost > 0 or duplicated > 0 then
    sim.wrong(("%d reported records are lost, %d steps ended twice"):format(lost, duplicated))
  end
  local list, message = records()
  if not list then
    sim.wrong("the journal cannot be read: " .. tostring(message))
  else
    model.check(list, sim.sent(), skills.draw(seed, rough), sim.wrong)
  end
  return { summary = text }
end
