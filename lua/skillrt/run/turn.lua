-- run/turn.lua: the engine's five questions and its event, answered for one run of a skill: its turn.
--
-- Connects the parts of a run. `decide` lists who decides, in order: first arrivals and what is due, then what ends
-- the run, then the mode for the next step. Called by C (script.c) under pcall.

local arrivals = require("skillrt.run.turn.arrivals")
local child = require("skillrt.run.call.kind.child")
local calls_of = require("skillrt.run.call.calls")
local core = require("skillrt.core")
local journal_of = require("skillrt.run.journal")
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local message_of = require("skillrt.run.message")
local programs = require("skillrt.run.call.programs")
local questions = require("skillrt.run.questions")
local record = require("skillrt.base.record")
local resume = require("skillrt.run.resume")
local pause_of = require("skillrt.run.turn.pause")
local scheduler = require("skillrt.run.turn.scheduler")
local snapshot = require("skillrt.run.snapshot")
local soft_deadline = require("skillrt.run.call.soft_deadline")
local steps_of = require("skillrt.run.step.steps")
local subs_of = require("skillrt.run.turn.subs")
local views = require("skillrt.run.views")
local waits = require("skillrt.run.call.kind.wait")

local M = {}

---@class skillrt.Turn
---@field run skillrt.Run
---@field session skillrt.Session
---@field books skillrt.Books
---@field journal skillrt.Journal
---@field newest string|nil  how a record ends before which nothing need be read back
---@field out string[]      record payloads that the engine has not taken yet
---@field blobs table[]     { digest, text } to write before them
---@field verdict table|false  { status, reason, message }: how the run ends
---@field goes_back boolean  to a checkpoint, once its record is known
---@field rollback table|false  that record
---@field stays string[]?  the children that the run waits for there
---@field has_told boolean  its parent, how it has ended
---@field is_canceled boolean  its parent does not wait for it any more, and steps are under way
---@field interruption table|nil  { reason, line of the script }: why its process stopped
---@field accepting integer|false  the number whose `accept` has started and not ended
---@field written integer     ... how much was written then
---@field begun table<integer, integer>  the same for those that were interrupted, by number
---@field edit_base table|nil  the state that an edited state.json showed
---@field has_left boolean|nil  its reports for people are written (records.lua); nil: not known yet
---@field trouble string|nil  ... or why they are not
---@field news boolean       something was recorded or shown since the last `durable`: read by the core
local Turn = {}
Turn.__index = Turn

---@param run skillrt.Run
---@param session skillrt.Session
---@param options table  { first = first record of a new run, make_mode = fun(run): table, watcher, books_bytes }
---@return skillrt.Turn
function M.new(run, session, options)
  local self = setmetatable({ run = run, session = session, books = run.books, out = {}, blobs = {},
    accepting = false, written = 0, begun = {}, news = true, verdict = false, subs = false, goes_back = false,
    rollback = false, has_told = false, is_canceled = false }, Turn)
  self.starts = not run.keeps_nothing -- the core reports programs, see programs.lua
  self.arrivals, self.rest = arrivals.new(self), pause_of.new(self)
  self.skill = run.skill
  self.first, self.make_mode, self.watcher = options.first, options.make_mode, options.watcher
  self.journal = journal_of.new({
    books = run.books,
    out = self.out,
    blobs = self.blobs,
    keeps_nothing = run.keeps_nothing,
    books_bytes = options.books_bytes,
    watcher = options.watcher,
    source = self,
  })
  self.known_views = {}
  self.newest = not session.edited and snapshot.ENDING or nil
  if self.watcher and self.watcher.tick then
    function self.tick() self.watcher.tick() end
  end
  return self
end

---Writes one record: into the books and, with the next batch, into the journal.
---@param entry table
---@return boolean|nil ok
---@return string? message
function Turn:emit(entry)
  return self.journal:emit(entry)
end

---A helper was loaded during the run: its digest is recorded like those of earlier ones.
---@param name string
---@param digest string
function Turn:pin(name, digest)
  local phase = self.run.phase
  if self.mode and phase ~= "stopping" and phase ~= "stopped" and self.books.pins[name] ~= digest then
    assert(self:emit({ t = "pin", pins = { [name] = digest } }))
  end
end

-- ---- load ----

---One record read back from the journal.
---@param payload string
---@param seq integer
function Turn:record(payload, seq)
  if self.session.edited then
    self.edit_base = resume.record(self, payload, seq) or self.edit_base
  else
    self.journal:take_back(payload, seq)
  end
end

---All records were read; `fresh`: there were none; `torn`: the file of an end that a kill left incomplete, or "".
---@param fresh boolean
function Turn:load(fresh, torn)
  if fresh and not self.first then -- a promoted standby has lost what was there when the run was looked at
    error({ message = require("skillrt.run.look").nothing(self.run.store.place), code = "missing" }, 0)
  elseif fresh then
    local ok, why = self:emit(self.first)
    if not ok then
      error({ message = "the run cannot be recorded: " .. why, code = "invalid" }, 0)
    end
  else
    self.journal.newest:apply()
    resume.begin(self, torn)
  end
  self.run:begin()
  if fresh and self.run.skill.contexts then
    require("skillrt.run.contexts").load(self, self.run.skill)
  end
  local run, session = self.run, self.session
  self.mode = self.make_mode(run)
  self.stretch_ms, self.left_ms = run.limits:stretch() -- read by the core: it stops Lua that does not yield
  self.calls = calls_of.new(run, self.journal, session, self.watcher)
  self.steps = steps_of.new(run, self.journal, self.calls, self.mode)
  self.scheduler = scheduler.new(run, self.journal, self.steps, self.mode)
  self.durable_steps = self.books.finished
  if not fresh then
    if self.books.cwd and run.cwd ~= self.books.cwd then
      local text = "the folder %s, in which the run began, is gone; its programs run in %s"
      self.journal:note(text:format(self.books.cwd, run.cwd))
    end
    self.steps:take_up()
    self.scheduler:reopen()
    if self.calls.opening[1] then
      self:of_subs():open()
    end
    resume.check_dropped(self, self.steps.dropped)
    resume.restore_outputs(self)
  end
  self.run:become("going")
end

---Performs steps again that need their records, or finds the place of a rollback: the store is read.
function Turn:reload()
  local again = self.calls.queue.again
  if self.goes_back then
    self.rollback, self.stays = require("skillrt.run.damage").record(self)
  end
  while again[1] do
    local step = table.remove(again, 1)
    step.live.home:perform_again(step)
    if self.calls.opening[1] then
      self:of_subs():open()
    end
  end
end

-- ---- the end ----

-- The last record, which the store may refuse, and the summary for lists; `due`: UTC ms when the run resumes
-- automatically.
local function write_end(self, status, reason, message, due)
  local run = self.run
  if reason == "task_completed" and self.books.finished == 0 then -- it says nothing about the run's work
    reason, message = "nothing_ran", "no step ran: each had a condition that is false"
  end
  self.verdict = { status, reason, due }
  local limit = run.limits:named(reason)
  if reason == "rolled_back" then
    local before = child.open(self.books)
    assert(self:emit(self.rollback))
    local problem = child.leave(run.store, before, self.stays)
    if problem then
      self.journal:note("a child continues, as it could not be aborted: " .. problem)
    end
  end
  local unkept, kept
  if self.books.session and run.skill.contexts then
    unkept, kept = require("skillrt.run.contexts").keep(self, run)
  end
  if unkept then
    self.journal:note("the session is not kept: " .. unkept)
  end
  assert(self:emit({ t = "stop", status = status, reason = reason, message = message and record.printable(message),
    limit = limit, due = due, kept = kept, idle = run.limits.idle_ms }))
  self.verdict[4] = json.encode(look.summary(self.books), { sorted = true })
end

local function stop(self, ...)
  self.run:become("stopped")
  write_end(self, ...)
  return "stop", table.unpack(self.verdict, 1, 4)
end

-- When a child tries again to tell its parent how it has ended.
local AGAIN_MS <const> = 5000

-- Its process stopped.
local function interrupted(self)
  local reason, line = table.unpack(self.interruption, 1, 2)
  return "paused", reason, self.run.limits:interrupted(reason, line)
end

-- A child records how it has ended, tells its parent, and then ends; true: that is under way. A parent that has
-- canceled it waits for nothing, and may be paused for a person, whom a message must not forestall.
local function tells(self)
  local books, status, reason, message = self.books, table.unpack(self.verdict, 1, 3)
  if not books.child_of or self.has_told or status == "paused" or reason == "canceled" then
    return false
  elseif not books.outcome then
    assert(self:emit(child.outcome(self.run, status, reason, message)))
  end
  self.calls.queue:perform({ errand = true, over = function()
    local ok, why = child.tell(self.run)
    self.has_told = ok ~= nil
    if not ok then
      self.verdict = { "paused", "waiting_for_time", "its parent cannot be told how it has ended: " .. why,
        core.wall_ms() + AGAIN_MS }
    end
  end })
  return true
end

-- Nothing new is sent; when nothing is under way any more the run stops. Cancelled calls stay open in the books, and
-- count as no attempt.
local function drain(self)
  local queue = self.calls.queue
  queue:keep_back(self.steps.performing)
  if next(queue.under_way) == nil and not self.calls:give_back() then
    self.goes_back = self.verdict[2] == "rolled_back" and not self.rollback
    if not self.goes_back and not tells(self) then
      return stop(self, table.unpack(self.verdict, 1, 4))
    end
  end
  self:ring()
  if self.run.phase == "draining" and self.run.limits:out_of_time() then
    self.run:become("canceling")
    queue:cancel_all()
  end
  return self:go()
end

-- ---- choose ----

---The sub-runs, if there are or were any.
---@return skillrt.Subs
function Turn:of_subs()
  self.subs = self.subs or subs_of.new(self)
  return self.subs
end

-- The time of a call, of a step, or of the soft deadline has come.
local function rang(self, what)
  if what.watches then
    soft_deadline.rang(self)
  elseif what.place then
    self.calls:rang(what)
    what.execution:go_on()
  else
    what.live.home:rang(what)
  end
end

---What is due by then: waits that have ended, attempts whose wait has passed. In a run that is to end, only programs
---are recorded and sessions continue: the rest is open in the books, and a resume waits for it.
function Turn:ring()
  local due, now = self.calls.due, core.mono_ms()
  while due[1] and due[1].at <= now do
    local what = due:take()
    if what.program then
      programs.rang(self.calls, what)
    elseif what.ring then
      what.ring()
    elseif self.run.phase == "going" then
      rang(self, what)
    end
  end
end

---Whether a call waits for something from outside.
function Turn:listens()
  local calls = self.calls
  return (not self.run.keeps_nothing or self.session.wait or next(calls.sessions) ~= nil) and not self.arrivals.deaf
    and (self.books.questions ~= nil or self.books.child_of ~= nil or next(calls.waiters) ~= nil
      or calls.has_agents and next(calls.queue.under_way) ~= nil)
end

---What to send, perform and give up (the engine empties these lists), and when to ask again.
---@param stays_until integer|nil  of steady.lua: how long a host lets the run stay loaded
---@return "go" kind
function Turn:go(stays_until)
  local calls, performing, phase = self.calls, self.steps.performing, self.run.phase
  local queue, first = calls.queue, calls.due[1]
  local at = first and first.at
  if phase ~= "canceling" and not performing[1] then -- what is performed asks again
    local over = self.run.limits.alarms[1]
    over = over and over.at
    at = over and not (at and at < over) and over or at
  end
  if phase == "going" then
    local stays = self.arrivals.again_at or stays_until
    at = stays and not (at and at < stays) and stays or at
    at = next(calls.unmatched) and 0 or at -- a function waits for something that may be there already
  end
  if queue.acting[1] then
    queue:hand_over(performing)
  end
  if queue.withdrawn then
    queue:sift()
  end
  local listens = self:listens()
  return "go", performing, queue.starting, queue.cancels, at and math.max(0, at - core.mono_ms()), listens,
    self.goes_back or queue.again[1] ~= nil
end

-- A turn: who decides, in order. Each lets the run continue; or ends it ("end", status, reason, message, and whether
-- calls under way are cancelled); or pauses it ("pause", reason, message, and when it resumes automatically). The
-- second value, if it continues: how long it may.
local function decide(self)
  local calls, limits, steps = self.calls, self.run.limits, self.steps

  -- the inbox: answers and events that came
  if self.arrivals.has_come then
    self.arrivals:take()
  elseif limits.rests_from then
    limits:rest(false)
  end

  -- what is due, and calls that wait for what came
  if calls.due[1] then
    self:ring()
  end
  if next(calls.unmatched) then
    waits.match(calls)
  end

  -- limits: calls that have room again, and limits that are reached
  if limits.releasing[1] then
    limits:release()
  end
  if calls.queue.held[1] then
    calls.queue:admit_held()
  end
  if limits.hit or limits.alarms[1] then
    local status, reason, message, at_once = limits:reached()
    if status then
      return "end", status, reason, message, at_once
    end
  end

  -- steps: an output cannot be written, code failed, an invariant is violated
  if steps.verdict then
    return "end", table.unpack(steps.verdict)
  elseif self.books.damaged then
    return "end", require("skillrt.run.damage").verdict(self)
  end

  -- doubts: a person decides about calls whose outcome is unknown
  if calls.doubts[1] then
    questions.about_doubts(self)
  end

  -- the scheduler: which steps start
  local kind, what, why, text = self.scheduler:choose()
  if kind == "stop" then
    return "end", what, why, text
  elseif (self.subs or calls.opening[1]) and self:of_subs():choose() then
    return decide(self) -- a call may wait for what ended in a sub-run
  elseif kind == "ask" then
    questions.ask_for_mode(self, what)
  end

  -- doubts and limits again: new calls may have been sent before the journal was truncated, or may not be sent
  if calls.doubts[1] then
    questions.about_doubts(self)
  end
  if limits.hit then
    return "end", limits:reached()
  end

  -- rest: whether a run with nothing under way pauses
  if not steps.performing[1] and not calls.queue.again[1] and next(calls.queue.under_way) == nil
    and not next(calls.unmatched) then
    kind, what, why, text = self.rest:decide()
    if kind == "again" then
      return decide(self)
    end
    return kind, what, why, text
  end
end

-- Applies the decision: the worker that has the run is ending, and returns it.
local function decision_of(self)
  local outcome = self.books.outcome
  if outcome then
    return "end", outcome.status, outcome.reason, outcome.message
  elseif self.is_canceled then
    return "pause", "drained", "it is resumed to be aborted", core.wall_ms()
  elseif core.drains() then
    return "pause", "drained", "its worker ends; another one resumes it", core.wall_ms()
  end
  return decide(self)
end

---Aborts the run: its parent does not wait for it any more.
---@param parent string  its run id
---@return boolean|nil ok
---@return string? message
function Turn:cancel(parent)
  if self.books.abort or not self.books.child_of then
    return true
  end
  self.is_canceled = self.books.open > 0
  return self:emit({ t = "abort", reason = "canceled", message = record.printable(
    ("the run %s does not wait for it any more"):format(parent)) })
end

---What now?
function Turn:choose()
  local phase = self.run.phase
  if phase == "going" then
    local decision, status, reason, message, at_once = decision_of(self)
    if not decision then
      return self:go(status)
    end
    self.run:become(at_once and "canceling" or "draining")
    self.verdict = decision == "pause" and { "paused", status, reason, message } or { status, reason, message }
    self.calls.queue:keep_back(self.steps.performing)
    if at_once then
      self.calls.queue:cancel_all()
    elseif status == "drained" then
      self.calls.queue:cancel_all(true)
    end
  elseif phase == "stopped" then
    return "stop", table.unpack(self.verdict, 1, 4)
  elseif phase == "stopping" then
    return stop(self, interrupted(self))
  end
  return drain(self)
end

-- ---- request, accept, event ----

---The task of a call that is sent now.
---@param number integer
---@return table task
function Turn:request(number)
  local queue = self.calls.queue
  local what = queue.under_way[number] or queue.lines[number]
  return what.errand or self.calls:task(what)
end

---What a reply means; no reply: a step's function is to be performed. An interruption from outside may come between
---any two instructions, and then the same number comes again: it is performed again only if nothing of the first time
---was written.
---@param number integer
---@param reply table|nil
---@return "over" verdict  further attempts wait in `due`, like sleeps
function Turn:accept(number, reply)
  local queue, count = self.calls.queue, #self.out
  if self.accepting then
    self.begun[self.accepting] = self.written
  end
  local what, before = queue.under_way[number] or queue.lines[number], self.begun[number]
  if not what or before and before ~= count then -- what is open in the books is continued by a resume
    queue:forget(number)
    return "over"
  end
  self.accepting, self.written = number, count
  if what.errand then
    queue:ended(what, number, reply)
  elseif what.place then
    self.calls:replied(what, reply, number)
    if self.run.phase ~= "stopping" then
      what.execution:go_on()
    end
  else
    if not reply then -- otherwise it was cancelled before it started
      what.live.home:perform(what)
    end
    queue:forget(number)
  end
  self.accepting = false
  return "over"
end

---Something came that answers no request: a file in the inbox, a host's answer or event, a message.
---@param source string  "inbox", "deaf" (the inbox cannot be watched), "answer", "event"; or a word and a number
---@param bytes string
function Turn:event(source, bytes)
  local word, number = source:match("^(%a+):(%d+)$")
  local what = word and self.calls.queue:find(math.tointeger(tonumber(number)))
  if word == "message" and what then
    what:hear(bytes)
  elseif word == "head" and what and what.head then
    what:head(bytes)
  elseif word == "started" and what then
    programs.started(self, what, bytes)
  elseif word == "silent" and what and what.place then
    questions.about_silence(self, what, bytes)
  elseif source == "missed" then
    what = self.calls.queue:find(math.tointeger(tonumber(bytes)))
    self.journal:note(("session:%s: sent more at once than is stored; some of it is lost"):format(
      what and what.session.name or "?"))
  elseif not word then
    self.arrivals:noticed(source, bytes)
  end
end

---Whether a number waits for a message: asked when it comes, before `event` or `accept`.
---@param number integer
---@param text string
---@return boolean
function Turn:awaits(number, text)
  local what = self.calls.queue:find(number)
  if what and what.place then
    local form, key = message_of.read(text)
    return form == "answer" and key == message_of.key(what.request.id)
  end
  return what ~= nil and what.session:awaits(text)
end

-- ---- views and notices ----

---The files for people, as name and content; only those that changed.
---@param seq integer
---@return table[] list  { name, content }
function Turn:save(seq)
  return #self.out == 0 and views.list(self, seq) or {} -- no view shows what no batch took
end

---Everything up to a record is durable: the watchers show it.
---@param seq integer
function Turn:durable(seq)
  self.news = false
  self.durable_steps = self.books.finished
  self.journal:durable(seq)
  if self.arrivals.recorded[1] then
    self.arrivals:durable()
  end
  if self.skill.records then
    self.has_left, self.trouble = require("skillrt.run.records").leave(self.run, self.has_left)
  end
end

---Records since the last `durable` are lost with the batch that failed.
function Turn:forget()
  self.lost = not self.run.keeps_nothing
  self.journal:forget()
end

---@param number integer
---@param text string
function Turn:progress(number, text)
  local call = self.calls.queue.under_way[number]
  if call and call.place then
    call:show(self.watcher, text)
  end
end

-- Stop reasons that come with a batch that may not have reached the journal.
local FAILED <const> = { store_failed = 1, out_of_memory = 1 }

---Somebody asked the run to stop, or it must stop.
---@param where string|nil  the line of the script that was stopped
function Turn:stop(why, where)
  local is_over = self.run.phase == "stopped"
  if not is_over then
    self.run:become("stopping")
  end
  self.interruption = { why, where }
  if FAILED[why] then
    self:forget()
  end
  for i = why == "store_failed" and math.max(#self.out, #self.blobs) or 0, 1, -1 do
    self.out[i], self.blobs[i] = nil, nil -- what the store did not take: the last record must fit
  end
  if is_over and why == "store_failed" then
    write_end(self, interrupted(self))
  end
end

return M
