-- run/calls.lua: what a step waits for: from the function that asks to the result that is given back.
--
-- A call has an intent before each attempt and one result; which attempt follows, and what may have been
-- executed, is decided here alone (docs/steps.md, "What is made again"). Knows the books and expectations,
-- no agents, no modes, and of coroutines only what branches.lua says.

local cleaned = require("skillrt.run.cleaned")
local digest = require("skillrt.run.digest")
local due = require("skillrt.run.due")
local given = require("skillrt.run.given")
local held_of = require("skillrt.run.held")
local judge = require("skillrt.run.judge")
local kept = require("skillrt.run.kept")
local prompts = require("skillrt.run.prompts")
local programs = require("skillrt.run.programs")
local record = require("skillrt.base.record")
local retry = require("skillrt.skill.retry")
local single = require("skillrt.base.single")
local waits = require("skillrt.run.waits")

---@class skillrt.Call
---@field place string
---@field step skillrt.Step
---@field branch skillrt.Branch
---@field request table   checked: kind "http", "command", "sleep"
---@field kind string    "http", "command"; "sleep", "ask", "wait": those that leave for nowhere (waits.lua)
---@field to string       where it goes, as it may be shown
---@field digest string   of what was declared
---@field idem boolean    may be made again when nobody knows whether it was executed
---@field attempt integer
---@field number integer|nil  the engine's, while it is under way
---@field doubt boolean|nil

---@class skillrt.Calls
---@field starting integer[]  numbers of calls that leave with the next batch
---@field cancels integer[]
---@field doubts skillrt.Call[]
---@field held skillrt.Held  calls for which a limit has no room now
---@field due skillrt.Due
---@field subs skillrt.Subs   what is told of calls that are skills' runs
---@field waiters table<string, skillrt.Call[]>  by event: who waits for it, the oldest first
---@field unmatched table<string, true>          events for which somebody may have come
local Calls = {}

---@param run table       { books, work_dir, skill }
---@param journal skillrt.Journal
---@param numbers table   { next = fun(what): integer }: the engine's numbers
---@param session table   { decide }
---@return skillrt.Calls
function Calls.new(run, journal, numbers, session)
  local self = {
    run = run,
    journal = journal,
    numbers = numbers,
    session = session,
    starting = {},
    cancels = {},
    doubts = {},
    held = held_of.new(),
    due = due.new(),
    waiters = {},
    unmatched = {},
    talks = {}, -- sessions that were begun in this process
    order = 0,
  }
  function self.admitted(call) -- leaves with the next batch, where its limits have room for it
    if not run.limits:admit(call) then
      return false
    end
    call.number, call.leaving = numbers:next(call), true
    self.starting[#self.starting + 1] = call.number
    return true
  end
  return single.of(Calls, self)
end

-- ---- declared ----

-- Something else is asked for than was recorded at its place: it is forgotten where that is expected.
local function differs(self, call, known)
  local step = call.step
  if call.execution:is_exact() and not known.pure then
    call.execution:diverge(call.place, known.to or "another call", call.to)
  elseif step.known[call.place] or known.idem then -- what had left and may have acted is a question
    assert(self.journal:emit({ t = "drop", step = step.number, from = { call.place } }))
  end
end

---A call of a branch; it leaves when there is room, or gives what is recorded.
---@param execution skillrt.Execution
---@param branch skillrt.Branch
---@param request table
---@return skillrt.Call
function Calls:declare(execution, branch, request)
  local step = execution.step
  local place = execution:place(branch)
  self.order = self.order + 1
  local call = {
    place = place,
    step = step,
    branch = branch,
    execution = execution,
    request = request,
    kind = request.kind,
    to = digest.target(request),
    digest = digest.of(request, step.home and step.home.run or self.run),
    idem = request.idempotent == true,
    attempt = 1,
    order = self.order,
  }
  local known = step.known[place] or step.calls[place]
  if known and known.digest and known.digest ~= call.digest then
    differs(self, call, known)
  end
  execution:declare(call)
  return call
end

---The idempotency key of the call that a branch would make next.
---@return string
function Calls:key_of(step, place)
  return ("%s-%d-%s-%d"):format(self.run.books.run_id, step.number, place, 1 + (step.generations[place] or 0))
end

-- ---- leaving ----

local function start(self, call)
  call.doubt = nil
  local pace = call.request.pace
  local now = pace and self.run.core.wall_ms()
  local wait = pace and not call.paced and pace:wait(now) or 0
  call.paced = wait > 0 or nil -- what waits has its place, and does not ask again
  if wait > 0 then
    self.due:put(now + wait, call)
    return
  end
  self.held:put(call, self.run.limits:bounds_of(call), self.admitted)
end

---Calls that were held back leave as far as there is room for them now.
function Calls:admit_held()
  if self.held[1] then
    self.held:go_on(self.admitted)
  end
end

-- A call that had left when the run stopped.
local function take_up(self, call, open)
  call.attempt = open.a or 1
  local decision = open.decision
  open.decision = nil
  if decision then
    self:decide(call, decision)
  elseif open.failed then -- its attempt was over, the next one waits
    call.attempt = call.attempt + 1
    self.due:put(math.min(open.retry_at, self.run.core.wall_ms() + open.failed.retry), call) -- clocks are put back
  elseif call.idem then
    start(self, call)
  else
    local message = open.doubt and open.doubt.message
    self:doubt(call, message or "the run was interrupted before a reply", open.doubt ~= nil)
  end
end

-- Whether it is the first of its branch behind a cut of the journal, and may act.
local function is_lost_maybe(call)
  local cut = call.step.cut
  if not cut or call.idem or call.request.pure or cut[call.branch.prefix] then
    return false
  end
  return require("skillrt.run.books.calls").ACTS[call.kind] == true
end

---A call may leave: what is under way, in doubt or asleep already is taken up.
---@param call skillrt.Call
function Calls:leave(call)
  local open, known = call.step.calls[call.place], call.step.known[call.place]
  if known and not call.execution.taken[call.place] then -- what a further attempt keeps
    call.execution.taken[call.place] = true
    self:give(call, known)
  elseif waits.begin[call.kind] then
    waits.begin[call.kind](self, call)
  elseif call.kind == "run" then
    self.subs:leave(call)
  elseif open then
    take_up(self, call, open)
  elseif is_lost_maybe(call) then
    self:emit(call, { t = "call", kind = call.kind, to = record.printable(call.to), digest = call.digest,
      key = self:key_of(call.step, call.place) })
    self:doubt(call, "the end of the journal was cut off, so it may have been made already")
  else
    start(self, call)
  end
end

---A record of a call, with what the function drew since the last one.
function Calls:emit(call, entry)
  local step = call.step
  entry.step, entry.c = step.number, call.place
  if step.fresh or step.read then
    kept.with_fresh(self.journal, step, entry)
  end
  local ok, message = self.journal:emit(entry)
  if not ok then
    error(("%s: call %s: %s"):format(call.step.id, call.place, message), 0)
  end
end

---The task of a call that leaves now, and the record that it does.
---@param call skillrt.Call
---@return table task
function Calls:task(call)
  local key = self:key_of(call.step, call.place)
  local task
  call.leaving = nil
  task, key = digest.task(call.request, key, self.run)
  if call.kind == "session" then
    self.talks[call.request.session] = true
  end
  self:emit(call, {
    t = "call",
    a = call.attempt > 1 and call.attempt or nil,
    kind = call.kind,
    to = record.printable(call.to),
    key = key,
    digest = call.digest,
    idem = call.idem or nil,
    pure = call.request.pure,
    label = call.request.label and record.printable(call.request.label),
    phase = call.request.phase and record.printable(call.request.phase),
  })
  self.run.limits.sent(call)
  prompts.keep(self.run, call)
  return task
end

-- ---- replies ----

---Gives a recorded result back.
---@param call skillrt.Call
---@param known table  of the books
function Calls:give(call, known)
  given.result(call, self.journal:reread(known))
end

---The call is over: recorded, then given back.
---@param call skillrt.Call
---@param entry table  of its `result`
function Calls:settle(call, entry)
  entry.t = "result"
  entry.own = call.request.retry and true or nil
  call.number = nil
  self.run.limits:over(call)
  self:emit(call, entry)
  call.execution.taken[call.place] = true
  given.result(call, entry)
end

-- When the next attempt of a call follows; nil: there is none.
local function next_attempt(self, call, failure)
  local settings = call.request.retry
  if not settings or (failure.executed ~= "no" and not (failure.executed == "perhaps" and call.idem)) then
    return nil
  end
  local skill = (call.step.home or self).run.skill
  local own = setmetatable({ max_retries = settings.max or skill.limits.max_retries }, {
    __index = function(_, name)
      if settings[name] == nil then
        return skill.retry[name]
      end
      return settings[name] -- false, too
    end,
  })
  return retry.delay(own, call.attempt, failure.class, failure.retry_after_ms, self.run.core.random)
end

---A reply came: a result, or another attempt when its time has come, or a doubt.
---@param call skillrt.Call
---@param reply table
function Calls:replied(call, reply)
  cleaned.reply(reply, call.request.secrets)
  if call.request.pace then
    call.request.pace:learn(reply, self.run.core.wall_ms())
  end
  if reply.status == "canceled" then
    if call.canceling then
      self:settle(call, { failed = { class = "canceled", message = "canceled" } })
    end
    return -- the run stops: it stays open in the books, and is taken up on resume
  end
  local ok, failure = judge.of(call.request, reply)
  if ok then
    self:settle(call, { reply = reply })
    return
  end
  local wait = not call.canceling and next_attempt(self, call, failure)
  if wait then
    local a, message = call.attempt, record.printable(failure.message)
    wait = math.ceil(wait)
    self:emit(call, { t = "attempt", a = a, class = failure.class, message = message, retry = wait })
    call.attempt, call.number = a + 1, nil
    self.run.limits:over(call)
    self.due:put(call.step.calls[call.place].retry_at, call)
    return
  elseif failure.executed == "perhaps" and not call.idem and not call.canceling then
    self:doubt(call, failure.message)
    return
  end
  self:settle(call, {
    reply = reply,
    unsent = failure.executed == "no" or nil,
    unknown = failure.executed == "perhaps" or nil,
  })
end

---A sleep is over, or the wait before an attempt of a call that was taken up.
---@param call skillrt.Call
function Calls:rang(call)
  if call.program then
    return programs.rang(self, call)
  end
  if call.execution.ended or call.execution.calls[call.place] ~= call then
    return -- it was dropped
  elseif waits.begin[call.kind] then
    waits.rang(self, call)
  else
    start(self, call)
  end
end

-- ---- doubt ----

---It may have been executed, and nobody knows.
---@param call skillrt.Call
---@param message string
---@param said boolean?  the journal says so already
function Calls:doubt(call, message, said)
  call.number, call.doubt = nil, record.printable(message)
  self.run.limits:over(call)
  if not said then
    self:emit(call, { t = "doubt", message = call.doubt })
  end
  if self.session.decide then
    self:decide(call, self.session.decide)
  else
    self.doubts[#self.doubts + 1] = call
  end
end

---What becomes of a call in doubt.
---@param call skillrt.Call
---@param choice "retry"|"skip"|"fail"
function Calls:decide(call, choice)
  if choice == "retry" then
    start(self, call)
    return
  end
  local class = choice == "skip" and "skipped" or "permanent"
  local message = choice == "skip" and "skipped by decision" or "interrupted, and decided to have failed"
  self:settle(call, { unknown = true, failed = { class = class, message = ("%s: %s"):format(call.step.id, message) } })
end

-- ---- giving up ----

---A branch was ended: what its call waits for is no longer asked for. True: it is gone already.
---@param call skillrt.Call
---@param live boolean
---@return boolean gone
function Calls:give_up(call, live)
  local open = call.step.calls[call.place]
  if not live then
    return not (open or call.step.known[call.place]) -- what is recorded comes, and is left lying
  elseif call.kind == "run" then
    return self.subs:give_up(call)
  elseif call.leaving then -- its task was not asked for yet
    self.numbers:forget(call.number)
    self.run.limits:over(call)
    call.number, call.leaving, self.withdrew = nil, nil, true
  elseif call.number or call.doubt then
    if call.number and open and call.idem and not call.canceling then
      call.canceling = true
      self.cancels[#self.cancels + 1] = call.number
    end
    return false
  elseif waits.begin[call.kind] then
    waits.forget(self, call)
  elseif open and not (call.idem or open.failed) then
    return false -- it left before a crash: it is asked about
  end
  if open then
    local unsent = waits.begin[call.kind] ~= nil or open.failed ~= nil or nil
    local failed = { class = "canceled", message = "not waited for any more" }
    self:emit(call, { t = "result", unsent = unsent, q = call.q, failed = failed })
    call.execution.taken[call.place] = true
  end
  return true
end

return Calls
