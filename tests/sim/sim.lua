-- sim.lua: the Lua part of the simulator's processes: an episode of a run, and the audit after it.
--
-- Loaded once by sim.c with all that a run needs, then forked. The globals `episode` and `audit` are what a child
-- calls; the global `sim` is the world.

-- luacheck: read globals sim
-- luacheck: globals draw episode audit people views

local dir = "tests/sim/"
local books_of = require "skillrt.run.books"
local questions = require "skillrt.run.books.questions"
local json = require "skillrt.base.json"
local record = require "skillrt.base.record"
local record_of = require "skillrt.run.record"
local runner = require "skillrt.run.runner"
local stores = require "skillrt.run.store"
local core = require "skillrt.core"
local travel = require "skillrt.run.travel"

-- What runs load late, they have from the beginning.
local late <close> = assert(io.popen "cd lua/skillrt && ls mode/*.lua run/books/*.lua run/record/*.lua")
for path in late:lines() do
  require("skillrt." .. path:sub(1, -5):gsub("/", "."))
  record_of.problem_of { t = path:match "record/(%l+)%.lua$" }
end

-- A skill whose code came from a file would pin it, and that file is not on the simulated disk.
local function load_unnamed(path)
  local file <close> = assert(io.open(path, "rb"))
  return assert(load(file:read "a", "=" .. path:match "[^/]+$"))()
end

local skills = load_unnamed(dir .. "skills.lua")
local model = dofile(dir .. "model.lua")
local summary = dofile "tests/support/crash_audit.lua"
local views_of = dofile(dir .. "views.lua")

-- Where the run is.
local function here()
  return sim.forked() and "/fork" or sim.place()
end

-- Whether several workers have the run, which is in a database.
local function in_fleet()
  return sim.place() ~= "/run"
end

-- What `read` gives; a database may be restarting.
local function until_read(read, ...)
  local value, message
  repeat
    value, message = read(...)
  until value or not in_fleet()
  return assert(value, message)
end

local HEAD <const> = 58 -- bytes of a line before its payload (csrc/store/journal_format.h)

local function all_of(entry)
  local list = {}
  record_of.each(entry, function(one)
    list[#list + 1] = one
  end)
  return list
end

-- All records of a run's journal, including those inside a batch.
local function records(where)
  local list, store = { seqs = {} }, {}
  local function blob(digest)
    return until_read(store.blob, digest)
  end
  local function take(one, seq) -- the start of a step comes with its first record
    list[#list + 1] = one
    list.seqs[#list] = seq
  end
  local report, message, code = core.read(where or here(), function(payload, seq)
    record_of.each(assert(record.decode(payload, blob)), take, seq)
  end, store)
  return report and list, message, code
end

-- The open questions of a run, by its records, oldest first; the records are not checked against anything.
local function asked(list)
  local unanswered, again = {}, false
  for _, entry in ipairs(list) do
    if entry.q then
      unanswered[entry.q] = entry.t == "ask" or entry.t == "call" or nil
    end
    again = again or entry.t == "rollback"
  end
  local books = books_of.new()
  for _, entry in ipairs((again or next(unanswered)) and list or {}) do -- else none can be open
    books_of.apply(books, entry)
  end
  return questions.list(books)
end

-- Reports each record to the world once it is durable, as watchers would get it.
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

-- What a step of a scope blamed at its newest failure; nil: of the run itself.
local function blamed_in(list, scope)
  local inside, failure = {}, nil
  for _, entry in ipairs(list) do
    if entry.t == "start" and entry.sub == scope then
      inside[entry.step] = true
    elseif entry.t == "fail" and inside[entry.step] and not entry.retry then
      failure = entry
    end
  end
  return failure
end

local allow_failed, allow_call

-- A person allows repeating a call, by the label in its declaration; for a sub-run, what failed in it: the results of
-- all others stay.
function allow_call(list, step, c)
  local call
  for _, entry in ipairs(list) do
    call = entry.t == "call" and entry.step == step and entry.c == c and entry or call
  end
  if not call and list[1].from then -- the run from which this one was forked has called it
    return allow_call(assert(records(sim.place())), step, c)
  end
  if call and call.sub then
    local failure = blamed_in(list, call.sub)
    return failure and allow_failed(list, failure)
  elseif call then
    sim.allow(call.label or call.to or "") -- a function of this process is named by its target
  end
  return call ~= nil
end

-- A person allows repeating all calls in a sub-run, also in sub-runs of its steps: it was given up, and starts again.
local function allow_all(list, scope)
  local scopes = { [scope] = true }
  for _, entry in ipairs(list) do
    if entry.t == "start" and scopes[entry.sub or ""] then
      scopes[entry.step] = true
    elseif entry.t == "call" and scopes[entry.step] then
      sim.allow(entry.label or entry.to or "")
      scopes[entry.sub or ""] = entry.sub ~= nil or nil
    end
  end
end

-- A person retries a step: this allows repeating what its failure blames, what somebody had decided about, and what
-- was given up.
function allow_failed(list, failure)
  local allowed = failure.blame and allow_call(list, failure.step, failure.blame)
  local scopes = {}
  for _, entry in ipairs(list) do
    if entry.step == failure.step and entry.sub and entry.t == "call" then
      scopes[entry.c] = entry.sub
    elseif entry.step == failure.step and entry.t == "result" and scopes[entry.c] and entry.failed
      and entry.failed.class == "canceled" then
      allow_all(list, scopes[entry.c])
    end
    if entry.t == "result" and entry.step == failure.step and entry.decided and entry.c ~= failure.blame then
      allow_call(list, entry.step, entry.c)
    end
  end
  return allowed
end

-- A person allows repeating the call of a question. If a power cut removed its record, it may be any call that the
-- journal does not know.
local function allow(list, question)
  if allow_call(list, question.step, question.c) then
    return
  end
  local recorded = {}
  for _, entry in ipairs(list) do
    recorded[entry.label or entry.to or ""] = true
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

-- A person's answer to one open question; nil: none now.
local function said(list, one, rough)
  if is_about_outcome(list, one) then
    local value = rough and DECISIONS[sim.draw(3) + 1] or "retry"
    if value == "retry" then
      allow(list, one)
      for _, more in ipairs(one.also or {}) do -- one question for all calls of an interruption
        allow(list, more)
      end
    end
    return value
  elseif one.question.options then
    local options = one.question.options
    local chosen = options[rough and sim.draw(#options) + 1 or 1]
    return type(chosen) == "table" and chosen.id or chosen
  end
  return "yes"
end

-- Events that a run waits for, by its records: the places of waits without a result.
local function awaited(list)
  local open, names = {}, {}
  for _, entry in ipairs(list) do
    local place = ("%s/%s"):format(entry.step, entry.c)
    if entry.t == "call" and entry.kind == "wait" then
      open[place] = entry.event
    elseif entry.t == "result" then
      open[place] = nil
    end
  end
  for _, name in pairs(open) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local put_count = 0

-- Puts a file into the inbox, completely, as `skillrt answer` and `skillrt send` do.
local function put(entry)
  put_count = put_count + 1
  local name = ("%d-%d"):format(sim.episode(), put_count)
  entry.id = name
  sim.note(("put %s: %s"):format(name, json.encode(entry)))
  if in_fleet() then
    stores.at(here()):put(entry)
    return
  end
  core.files.make_folders(here() .. "/inbox")
  assert(core.files.write(("%s/inbox/%s.json"):format(here(), name), json.encode(entry)))
end

---People follow a running run: they answer some of its questions, in a rough world also wrongly and twice, and send
---the events it waits for.
---@return boolean  whether the inbox changed
function people(rough)
  local list = records()
  local before = put_count
  for _, one in ipairs(list and asked(list) or {}) do
    if sim.draw(2) == 0 then
      if rough and sim.draw(4) == 0 then
        put { question = one.q, answer = "perhaps", nonce = one.nonce }
      end
      put { question = one.q, answer = said(list, one, rough), nonce = one.nonce }
      if rough and sim.draw(4) == 0 and not is_about_outcome(list, one) then
        put { question = one.q, answer = said(list, one, rough), nonce = one.nonce }
      end
    end
  end
  for _, name in ipairs(list and awaited(list) or {}) do
    put { event = name, value = "of " .. name }
  end
  return put_count > before
end

-- The calls of the run's own steps, by step and place, whose results are before one of its records.
local function answered_at(list, last)
  local answered, in_sub = {}, {}
  local function forget(step)
    for place, of in pairs(answered) do
      answered[place] = of ~= step and of or nil
    end
  end
  for i = 1, last do
    local entry = list[i]
    if entry.t == "start" then
      in_sub[entry.step] = entry.sub ~= nil
    end
    if entry.t == "result" and not in_sub[entry.step] then
      answered[("%s/%s"):format(entry.step, entry.c)] = entry.step
    elseif entry.t == "drop" or entry.t == "fail" or entry.t == "start" and entry.from and entry.from[1] then
      forget(entry.step) -- some of it
    elseif entry.t == "rollback" then
      local to = 0
      for at = 1, entry.from and 0 or i do
        to = list.seqs[at] <= entry.to and at or to
      end
      answered = answered_at(list, to)
    end
  end
  return answered
end

-- What a run that starts again from an earlier record may repeat: calls without a result there. What is done a second
-- time is undone twice.
local function allow_since(list, at)
  local answered = answered_at(list, at)
  for i, entry in ipairs(list) do
    if entry.t == "call" and not (i <= at and answered[("%s/%s"):format(entry.step, entry.c)]) then
      sim.allow(entry.label or entry.to or "")
    elseif entry.t == "undoable" then
      sim.allow(("once%s.%d.undone"):format(entry.id, entry.step))
    end
  end
end

-- A person rolls the run back to one of its records.
local function take_back(list)
  local at = 2 + sim.draw(#list - 1)
  allow_since(list, at)
  sim.note(("rollback %d"):format(list.seqs[at]))
  local done, message, code = travel.rollback(here(), tostring(list.seqs[at]))
  if not done and code ~= "invalid" and code ~= "missing" then
    sim.wrong("rollback: " .. tostring(message))
  end
end

-- A person forks the run after one of its records, and continues with the fork. The original is checked against the
-- rules as it is.
local function fork(list, skill)
  local at = 2 + sim.draw_for(#list - 1, "fork at")
  model.check(list, sim.sent(), skill, sim.wrong, nil, sim.unnoticed())
  allow_since(list, at)
  sim.note(("fork %d"):format(list.seqs[at]))
  local done, message, code = travel.fork(here(), tostring(list.seqs[at]), "/fork")
  if done then
    sim.forked(true)
  elseif code ~= "invalid" and code ~= "missing" and code ~= "system" then -- the disk may be full
    sim.wrong("fork: " .. tostring(message))
  end
end

-- What people do about a stopped run: the options of the following resume.
local function decisions(skill, rough)
  local list, message, code = records()
  if not list then
    return nil, message, code
  end
  if rough and #list > 2 and sim.draw(12) == 0 and not sim.leaves_out("rollback:" .. sim.episode()) then
    take_back(list)
    list, message, code = records()
  end
  local forks = "fork:" .. sim.episode()
  local may_fork = list and rough and #list > 2 and not sim.forked()
  if may_fork and sim.draw_for(12, forks) == 0 and not sim.leaves_out(forks) then
    fork(list, skill)
    list, message, code = records()
  end
  if not list then
    return nil, message, code
  end
  local options = { answers = {} }
  for _, one in ipairs(asked(list)) do
    local value = said(list, one, rough)
    sim.note(("answer %d: %s"):format(one.q, value))
    table.insert(options.answers, { question = one.q, value = value, nonce = one.nonce })
  end
  for _, name in ipairs(awaited(list)) do
    put { event = name, value = "of " .. name }
  end
  local stop
  for _, entry in ipairs(list) do -- a sub-run's end is no end of the run
    if not entry.sub then
      stop = entry.t == "stop" and entry or (entry.t ~= "resume" and stop or nil)
    end
  end
  if stop and stop.status == "failed" and sim.draw(3) > 0 then -- a retry allows repeating what the failure blames
    options.retry = true
    local failure = blamed_in(list)
    local allowed = failure and allow_failed(list, failure)
    sim.note(allowed and ("retry %d %s"):format(failure.step, failure.blame) or "retry")
  elseif rough and stop and stop.status ~= "failed" and sim.draw(12) == 0
    and not sim.leaves_out("abort:" .. sim.episode()) then
    options.abort, options.answers = true, {}
    sim.note "abort"
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

-- Why there is no run: it died before its first record, it has ended, or something is wrong.
local function refused(message, code)
  message = tostring(message)
  local nothing = message:find("contains no ", 1, true)
  local over = message:find "the run is %a+ed" or message:find("nothing to retry", 1, true)
  return { error = message, code = nothing and "nothing" or over and "over" or tostring(code) }
end

-- Whether somebody has changed the script by now; whoever resumes the run then accepts the change.
local function is_changed(rough)
  for number = 2, rough and sim.episode() or 0 do
    local name = "change:" .. number
    if sim.draw_for(15, name) == 0 and not sim.leaves_out(name) then
      return true
    end
  end
  return false
end

-- An error message with a line of skillrt's own code is a bug, whatever happened.
local function check_words(message)
  if tostring(message):find "^skillrt/[%w_/]+%.lua:%d+: " then
    sim.wrong("an internal error: " .. message)
  end
end

-- Whoever is refused because the run has ended has read its last record: it counts as reported.
local function report_last()
  sim.outside(true)
  local list = until_read(records)
  sim.outside(false)
  sim.reported(json.encode(list[#list]))
end

-- Somebody rewrites the context file that runs are given; a run that has started keeps the earlier content.
local function rewrite(resume)
  sim.outside(true)
  resume = resume and not in_fleet() -- the one of the first worker counts
  assert(core.files.write("/known.md", resume and ("since process %d"):format(sim.episode()) or "from before"))
  sim.outside(false)
end

local drawn

-- The skill of a point, drawn once for all of its processes; they begin with it.
function draw(seed, _, rough)
  drawn = skills.draw(seed, rough, false, in_fleet())
end

local function skill_now(seed, rough, changed)
  return changed and skills.draw(seed, rough, true, in_fleet()) or drawn
end

function episode(seed, resume, rough)
  if in_fleet() and resume and not sim.claimed() and sim.draw(4) > 0 and core.holder(here()) then
    return { code = "busy", error = "another worker has it" }
  end
  rewrite(resume)
  local changed = is_changed(rough)
  local skill = skill_now(seed, rough, changed)
  sim.durable(skill.durability == "power")
  local options = { watcher = watcher(), work_dir = sim.place(), http_module = "simulated", run_id = "sim", cwd = "/",
    session = not resume and "mine" or nil }
  local run, report, self
  if resume then
    sim.outside(true)
    local more, message, code = decisions(skill, rough)
    sim.outside(false)
    if not more then
      return refused(message, code)
    end
    for key, value in pairs(more) do
      options[key] = value
    end
    put_count, options.work_dir = 0, here()
    options.accept_changes = changed or nil
    run, report, self = runner.take_up(skill, options)
  else
    run, report, self = runner.begin(skill, options)
  end
  if not run then
    check_words(report)
    local refusal = refused(report, self)
    if refusal.code == "over" then
      report_last()
    end
    return refusal
  end
  run:wait()
  local status, reason, message = run:status()
  check_words(message)
  local result = { status = status, reason = reason, message = message or self.books.message }
  run:close()
  return result
end

-- The records of the run that was forked; nil: a power cut removed the fork's origin before it was durable.
local function origin_of(list)
  local from, origin = list[1] and list[1].from, assert(records(sim.place()))
  return from and origin.seqs[#origin] >= from.seq and origin or nil
end

-- The records that the database has lost, as texts; values are there as long as the journal is read.
local function lost_records()
  local lost, store, read = {}, {}, false
  local function read_row(lines)
    for line in lines:gmatch "[^\n]+" do
      local payload = line:sub(HEAD + 1)
      local entry = not payload:find '^{"t":"journal"' and assert(record.decode(payload, store.blob))
      for _, one in ipairs(entry and all_of(entry) or {}) do
        lost[json.encode(one)] = true
      end
    end
  end
  core.read(here(), function()
    local row = read and math.maxinteger or 1
    while sim.lost(row) do
      read_row(sim.lost(row))
      row = row + 1
    end
    read = true
  end, store)
  return lost
end

-- The records that were reported, without those that the database has lost since.
local function reported()
  local left, lost = {}, sim.lost(1) and lost_records() or {}
  for _, text in ipairs(sim.records()) do
    left[#left + 1] = not lost[text] and text or nil
  end
  return left
end

function audit(seed, _, rough)
  if os.getenv "SHOW" then
    for _, entry in ipairs(records() or {}) do
      sim.note(json.encode(entry))
    end
  end
  local is_other = false
  local text, lost, duplicated, _, problem = summary(here(), reported(), true, function(list)
    for _, entry in ipairs(list) do
      is_other = is_other or entry.t == "contexts" and entry.failed -- the disk failed under a context file: another end
    end
    local origin = sim.forked() and origin_of(list)
    if origin or not sim.forked() then
      local skill = skill_now(seed, rough, is_changed(rough))
      model.check(list, sim.sent(), skill, sim.wrong, origin or nil, sim.unnoticed())
    end
  end)
  if problem then
    sim.wrong("the journal: " .. problem)
  elseif lost > 0 or duplicated > 0 then
    sim.wrong(("%d reported records are lost, %d steps ended twice"):format(lost, duplicated))
  end
  return { summary = is_other and "" or text }
end

-- What people are shown of the run, as a digest.
function views()
  local text = views_of.text(here(), sim.wrong)
  if os.getenv "SHOW" then
    io.write(text)
  end
  return { summary = core.sha256(text) }
end
