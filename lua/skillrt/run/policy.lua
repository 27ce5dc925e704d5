-- run/policy.lua: the five questions of the engine and its event, answered for one run of a skill.
--
-- Puts the rooms of a run together and says in which order they are asked: steps and calls under way
-- first, then what decides that a run ends, then the mode for the next step. Called by C (script.c) under pcall.

local arrivals = require("skillrt.run.inbox.arrivals")
local calls_of = require("skillrt.run.call.calls")
local core = require("skillrt.core")
local ending = require("skillrt.run.ending")
local files = require("skillrt.base.files")
local inbox = require("skillrt.run.inbox")
local journal_of = require("skillrt.run.journal")
local limits_of = require("skillrt.run.limits")
local message_of = require("skillrt.run.message")
local numbers_of = require("skillrt.run.numbers")
local questions = require("skillrt.run.questions")
local rest = require("skillrt.run.rest")
local scheduler = require("skillrt.run.scheduler")
local single = require("skillrt.base.single")
local snapshot = require("skillrt.run.snapshot")
local steady = require("skillrt.run.steady")
local steps_of = require("skillrt.run.steps")
local views = require("skillrt.run.views")

-- Loaded when a run goes on, or a step runs a skill: one that begins starts without them.
local function later(name)
  return setmetatable({}, { __index = function(_, key) return require(name)[key] end })
end
local soft_deadline, waits = later("skillrt.run.call.soft_deadline"), later("skillrt.run.call.kind.wait")
local programs = later("skillrt.run.call.programs")
local resume = later("skillrt.run.resume")
local subs_of = later("skillrt.run.subs")

local M = {}

local now_ms = steady.now

---@class skillrt.Policy
---@field run skillrt.Run
---@field session skillrt.Session
---@field books skillrt.Books
---@field journal skillrt.Journal
---@field newest string|nil  how a record ends before which nothing has to be read back
---@field out string[]      record payloads the engine has not taken yet
---@field blobs table[]     { digest, text } to keep before them
---@field news boolean       something was recorded, or somebody told, since the last `durable`: read by the core
local Policy = {}

---@param run skillrt.Run
---@param session skillrt.Session
---@param options table  { first = first record of a new run, make_mode = fun(run): table, watcher, books_bytes }
---@return skillrt.Policy
function M.new(run, session, options)
  local self = single.of(Policy, { run = run, session = session, books = run.books, out = {}, blobs = {},
    accepting = false, written = 0, broken = false, news = true, over = false, subs = false })
  run.core, run.keeps_nothing, run.functions = core, run.skill.context == "memory", options.functions
  self.starts = not run.keeps_nothing -- the core tells of programs, see programs.lua
  self.inbox = not run.keeps_nothing and inbox.new(run.work_dir) or nil
  self.work_dir, self.skill, run.unwatched = run.work_dir, run.skill, not (options.watcher or {}).progress or nil
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
  self.numbers = numbers_of.new()
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
function Policy:emit(entry)
  return self.journal:emit(entry)
end

---A helper was loaded while the run goes on: its digest is kept as those of the first ones are.
---@param name string
---@param digest string
function Policy:pin(name, digest)
  if self.mode and not self.stopped and not self.stopping and self.books.pins[name] ~= digest then
    assert(self:emit({ t = "pin", pins = { [name] = digest } }))
  end
end

-- ---- load ----

---One record read back from the journal.
---@param payload string
---@param seq integer
function Policy:record(payload, seq)
  if self.session.edited then
    resume.record(self, payload, seq)
  else
    self.journal:take_back(payload, seq)
  end
end

-- What is known of the run once its journal is read.
local function learn_folders(self)
  local run, books, here = self.run, self.books, files.current()
  run.args, run.elsewhere = books.args or run.args or {}, books.cwd ~= nil and books.cwd ~= here
  run.input_dir = files.join(books.cwd or here, books.input.dir or ".")
end

---All records were read; `fresh`: there were none; `torn`: the file of a tail that a kill tore, or "".
---@param fresh boolean
function Policy:load(fresh, torn)
  if fresh then
    assert(self:emit(self.first))
  else
    self.journal.newest:apply()
    resume.begin(self, torn)
  end
  learn_folders(self)
  if fresh and self.run.skill.contexts then
    require("skillrt.run.contexts").load(self, self.run.skill)
  end
  local run, session = self.run, self.session
  self.mode, run.limits = self.make_mode(run), limits_of.new(run)
  self.stretch_ms, self.left_ms = run.limits:stretch() -- read by the core: it stops Lua that runs on
  self.calls = calls_of.new(run, self.journal, self.numbers, session)
  self.steps = steps_of.new(run, self.journal, self.calls, self.numbers, self.mode)
  self.scheduler = scheduler.new(run, self.journal, self.steps, self.mode)
  self.durable_steps = self.books.finished
  if not fresh then
    self.has_arrived, self.calls.used = true, true -- while nobody looked
    run.accept_changes = session.accept_changes
    self.steps.loading = true
    self.steps:take_up()
    self.scheduler:reopen()
    if self:has_subs() then
      self.subs:open()
    end
    self.steps.loading = nil
    resume.check_dropped(self, self.steps.dropped)
    resume.restore_outputs(self)
  end
end

-- ---- choose ----

---Whether sub-runs are, or were, under way.
---@return boolean
function Policy:has_subs()
  if self.calls.opening[1] and not self.subs then
    self.subs = subs_of.new(self)
  end
  return self.subs ~= false
end

-- What is due until then: waits that are over, attempts whose wait is over.
local function ring(self, now)
  local due = self.calls.due
  local at = due:earliest()
  while at and at <= now do
    local what = due:take()
    if what.place then
      local step = what.step
      self.calls:rang(what)
      if step.execution then
        step.home:go_on(step)
      end
    elseif what.program then
      programs.rang(self.calls, what)
    elseif what.watches then
      soft_deadline.rang(self)
    else
      what.home:rang(what)
    end
    at = due:earliest()
  end
end

---Whether somebody waits for what may come from outside.
function Policy:listens()
  return (self.inbox ~= nil or self.session.wait or next(self.calls.talks) ~= nil) and not self.deaf
    and (self.books.questions ~= nil or next(self.calls.waiters) ~= nil)
end

---What leaves, is performed, is given up (whoever takes these lists empties them), and when to ask again.
---@return "go" kind
function Policy:go()
  local calls, limits, performing = self.calls, self.run.limits, self.steps.performing
  local first, at = calls.due[1], not performing[1] and limits:due() or nil -- what is performed asks again
  if first and (not at or first.at < at) then
    at = first.at
  end
  if self.resting then -- until it goes back into its books
    at = math.min(self.resting, at or self.resting)
  end
  if next(calls.unmatched) then
    at = 0 -- somebody has begun to wait for what may be there
  end
  local queue = calls.queue
  if queue.acting[1] then
    queue:hand_over(performing)
  end
  return "go", performing, queue:numbers(), queue.cancels, at and math.max(0, at - now_ms()),
    self:listens()
end

-- What calls and questions bring about before anything is chosen: what has come, what is due, what there is
-- room for again.
local function look_at_calls(self)
  local calls, limits = self.calls, self.run.limits
  self.resting = nil
  if self.has_arrived then
    arrivals.take(self, ring)
  end
  if calls.due[1] then
    ring(self, now_ms())
  end
  if next(calls.unmatched) then
    waits.match(calls, self)
  end
  if limits.releasing[1] then
    limits:release()
  end
  calls.queue:admit_held()
end

-- Why a run of which nothing is under way pauses, if it does.
local function resting(self)
  if next(self.numbers.under_way) == nil and not next(self.calls.unmatched) then
    return rest.pause(self)
  end
end

-- Why the run ends, whatever is next: an output cannot be written, code failed, an invariant no longer holds.
local function end_by_step(self)
  local steps = self.steps
  if steps.trouble then
    return "paused", "output_failed", steps.trouble
  elseif steps.halt then
    return table.unpack(steps.halt)
  elseif self.books.damaged then
    return require("skillrt.run.sound").verdict(self)
  end
end

-- A person says what becomes of calls whose outcome is unknown.
local function ask_about_unknown(self)
  if self.calls.doubts[1] then
    questions.decide(self)
    questions.ask_about_doubts(self)
  end
end

---What now?
function Policy:choose()
  if self.over then
    return ending.go_on(self)
  end
  local calls, steps, limits = self.calls, self.steps, self.run.limits
  if limits.rests_from and not self.has_arrived then -- else the time until it is taken counts for nobody, too
    limits:rest(false)
  end
  if calls.used then
    look_at_calls(self)
  end
  local status, reason, message, at_once = limits:reached()
  if status then
    return ending.decide(self, status, reason, message, at_once)
  end
  status, reason, message = end_by_step(self)
  if status then
    return ending.decide(self, status, reason, message)
  end
  ask_about_unknown(self)
  local kind, what, why, text = self.scheduler:choose()
  while kind ~= "stop" and self:has_subs() and self.subs:choose() do -- what ends in a sub-run may be waited for
    kind, what, why, text = self.scheduler:choose()
    status, reason, message = end_by_step(self) -- of a step that waited for it
    if status then
      return ending.decide(self, status, reason, message)
    end
  end
  if kind == "ask" then
    questions.ask_for_mode(self, what)
  elseif kind ~= "wait" then
    return ending.decide(self, what, why, text)
  end
  ask_about_unknown(self) -- what has just begun may have been sent before the journal was cut
  if limits.hit then -- what has just begun may not call
    return ending.decide(self, limits:reached())
  elseif not steps.performing[1] then
    local due
    reason, message, due = resting(self)
    if reason == "again" then
      return self:choose()
    elseif reason then
      return ending.stop(self, "paused", reason, message, due)
    end
  elseif not calls.used then
    return "go", steps.performing -- which asks again
  end
  return self:go()
end

-- ---- request, accept, event ----

---The task of a call that leaves now.
---@param number integer
---@return table task
function Policy:request(number)
  return self.calls:task(self.numbers:of(number))
end

-- The last `accept` did not come to its end.
local function note_broken(self)
  self.broken = self.broken or {}
  self.broken[self.accepting] = self.written
end

---What a reply means; no reply: a step's function is to be performed. An interruption from outside may come
---between any two instructions, and then the same number comes again: it is performed anew only where nothing
---of the first time was written.
---@param number integer
---@param reply table|nil
---@return "over" verdict  further attempts wait in `due`, as sleeps do
function Policy:accept(number, reply)
  if self.accepting then
    note_broken(self)
  end
  local under_way, broken, count = self.numbers.under_way, self.broken, #self.out
  local what = under_way[number]
  if broken then -- one of those that were interrupted, and something of it is written?
    what = (broken[number] or count) == count and what
  end
  if not what then
    under_way[number] = nil
    return "over" -- what is open in the books is taken up on resume
  end
  self.accepting, self.written = number, count
  if what.place then
    self.calls:replied(what, reply)
    under_way[number] = nil
    if what.execution and not self.stopping then
      what.step.home:go_on(what.step)
    end
  else
    if not reply then -- else it was canceled before it began
      what.home:perform(what)
    end
    under_way[number] = nil
  end
  self.accepting = false
  return "over"
end

---Something came that nobody asked for just now: a file in the inbox, what a host handed over.
---@param source string  "inbox", "deaf" (the inbox cannot be watched), "answer", "event"
---@param bytes string
function Policy:event(source, bytes)
  arrivals.noticed(self, source, bytes)
end

---What a message of a session is: asked as it comes, before `event` or `accept` hears of it.
---@param session string
---@param text string
---@param opens boolean
---@return string form
function Policy:read(session, text, opens)
  return message_of.read(self.calls.users[session], text, opens)
end

-- ---- views and notices ----

---The views people read, as name and content; only those that changed.
---@param seq integer
---@return table[] list  { name, content }
function Policy:save(seq)
  return #self.out == 0 and views.list(self, seq) or {} -- no view shows what no batch took
end

---Everything up to a record is durable: whoever watches is told.
---@param seq integer
function Policy:durable(seq)
  self.news = false
  self.durable_steps = self.books.finished
  self.journal:durable(seq)
  if self.inbox and self.inbox.taken[1] then
    self.inbox:durable()
  end
  if self.skill.records then
    require("skillrt.run.records").leave(self)
  end
end

---What came since the last `durable` is lost with the batch that failed.
function Policy:forget()
  self.lost = not self.run.keeps_nothing
  self.journal:forget()
end

---@param number integer
---@param text string
function Policy:progress(number, text)
  local call = self.numbers:of(number)
  if call then
    call:show(self.watcher, text)
  end
end

-- Stops that come with a batch that may not have reached the journal.
local FAILED <const> = { store_failed = 1, out_of_memory = 1 }

---Somebody asked the run to stop, or it has to.
---@param where string|nil  the line of the script that was stopped
function Policy:stop(why, where)
  self.over, self.stopping, self.stopped_at = true, why, where
  if FAILED[why] then
    self:forget()
  end
  for i = why == "store_failed" and math.max(#self.out, #self.blobs) or 0, 1, -1 do
    self.out[i], self.blobs[i] = nil, nil -- what the store did not take: the last words have to fit
  end
end

return M
