-- run/calls.lua: what a step waits for: from the function that asks to the result that is given back.
--
-- A call has an intent before each attempt and one result; what becomes of it says calls/over.lua. Knows the
-- books and expectations, no agents, no modes, and of coroutines only what branches.lua says.

local digest = require("skillrt.run.calls.digest")
local due = require("skillrt.base.heap")
local given = require("skillrt.run.calls.given")
local held_of = require("skillrt.run.calls.held")
local kept = require("skillrt.run.kept")
local over = require("skillrt.run.calls.over")
local places = require("skillrt.run.places")
local late = require("skillrt.run.calls.late")
local prompts = require("skillrt.run.calls.prompts")
local programs = require("skillrt.run.calls.programs")
local record = require("skillrt.base.record")
local repeats = require("skillrt.mode.repeats")
local single = require("skillrt.base.single")
local steady = require("skillrt.run.steady")
local waits = require("skillrt.run.calls.waits")

-- Sessions: loaded where a run has one.
local function talks()
  return require("skillrt.run.calls.talks")
end

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
---@field due skillrt.Heap
---@field subs skillrt.Subs   what is told of calls that are skills' runs
---@field waiters table<string, skillrt.Call[]>  by event: who waits for it, the oldest first
---@field used boolean  something is or was waited for: until then nobody looks at all this
---@field unmatched table<string, true>          events for which somebody may have come
local Calls = {}
for name, method in pairs(over) do
  Calls[name] = method
end

-- Whether the gate of the agent that a call asks is closed: it waits until then; or not, where another may be asked.
local function waits_at_gate(self, call)
  local gate, now = call.request.gate, steady.now()
  local wait = gate and gate:wait(now, call.placed) or 0
  if wait > 0 then
    call.placed = true -- within the rates that are declared
    self.due:put(over.is_too_long(call, gate:left(now)) and now or now + wait, call)
  end
  return wait > 0
end

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
    acting = {}, -- those of functions of this process (acting.lua)
    cancels = {},
    doubts = {},
    held = held_of.new(),
    due = due.new(),
    waiters = {},
    unmatched = {},
    talks = {}, -- by session: the number of its program that runs, for all we were told (talks.lua)
    begun = {}, -- ... of the last that was begun in this process
    users = {}, -- ... the request that was sent last: who takes what it says unasked, what is answered at once
    fed = {}, -- by session: answered messages that a new program of it is told
    order = 0,
    used = false,
  }
  function self.admitted(call) -- the one place that says whether a call may be sent: with the next batch
    if waits_at_gate(self, call) then
      return true -- it is none of those that wait for room
    elseif not run.limits:admit(call) then
      return false
    end
    call.number, call.leaving, call.placed = numbers:next(call), true, nil
    local world = run.world
    call.world = world and world:takes(call) and world or nil
    table.insert((call.kind == "local" or call.world) and self.acting or self.starting, call.number)
    return true
  end
  return single.of(Calls, self)
end

-- ---- declared ----

-- Something else is asked for than was recorded at its place: it is forgotten where that is expected, but for what
-- acted in an attempt before: none that goes another way may make it a second time.
local function differs(self, call, known)
  local step = call.step
  if not known.pure and (call.execution:is_exact() or not repeats.may_differ(step, known)) then
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
  self.order, self.used = self.order + 1, true
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

---A call leaves, once its agent's gate and its limits let it.
---@param call skillrt.Call
function Calls:start(call)
  call.doubt = nil
  self.held:put(call, self.run.limits:bounds_of(call), self.admitted)
end

---An agent refused, and says until when: nothing more of it is sent, nor what was to leave now.
---@param gate skillrt.Gate
---@param until_ms integer  of steady.lua
---@param why string
function Calls:close(gate, until_ms, why)
  gate:close(until_ms, why)
  for _, list in ipairs({ self.starting, self.acting }) do
    for i = #list, 1, -1 do
      local call = self.numbers:of(list[i])
      if call and call.leaving and call.request.gate and call.request.gate.at == gate.at then
        table.remove(list, i)
        self.numbers:forget(call.number)
        self.run.limits:over(call)
        call.number, call.leaving = nil, nil
        self.due:put(until_ms, call)
      end
    end
  end
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
    local at = steady.at(self.run, open.retry_at, open.failed.retry) -- clocks are put back
    self.due:put(at, call)
    if call.request.gate and open.failed.class == "rate_limit" then
      self:close(call.request.gate, at, open.failed.message)
    end
  elseif call.idem then
    self:start(call)
  else
    local message = open.doubt and open.doubt.message
    call.is_left = true
    self:doubt(call, message or "the run was interrupted before a reply", open.doubt ~= nil)
  end
end

-- Whether it is the first of its branch behind a cut of the journal, and may act. A branch that was begun behind a
-- call made since is a new one.
local function is_lost_maybe(call)
  local cut, prefix = call.step.cut, call.branch.prefix
  if not cut or call.idem or call.request.pure or cut[prefix] then
    return false
  end
  local above, position = places.above(prefix)
  while above do
    local first = cut[above]
    if math.type(first) == "integer" and first < position then
      return false
    end
    above, position = places.above(above)
  end
  return repeats.ACTS[call.kind] == true
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
  elseif call.request.follows and not self.talks[call.request.session] then
    local failed = { class = "lost", message = "the program that asked is gone" }
    self:settle(call, { unsent = not open or nil, failed = failed })
  elseif open then
    take_up(self, call, open)
  elseif is_lost_maybe(call) then
    self:emit(call, { t = "call", kind = call.kind, to = record.printable(call.to), digest = call.digest,
      key = self:key_of(call.step, call.place) })
    call.is_left = true
    self:doubt(call, "the end of the journal was cut off, so it may have been made already")
  else
    self:start(call)
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
  if not ok and entry.t == "result" then -- too large as JSON, say: that is what it came to, and it is not sent again
    entry.reply, entry.value = nil, nil
    entry.failed = { class = "permanent", message = record.printable("its result cannot be recorded: " .. message) }
    ok, message = self.journal:emit(entry)
  end
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
  local entry = {
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
  }
  if call.kind == "session" then
    talks().address(self, call, task)
    talks().record(self, call, entry)
  end
  self:emit(call, entry)
  self.run.limits.sent(call)
  if not self.watching then
    late.watch(self, call.step)
  end
  prompts.keep(self.run, call)
  return task
end

-- ---- replies ----

---Gives a recorded result back.
---@param call skillrt.Call
---@param known table  of the books
function Calls:give(call, known)
  if known.said then
    talks().answered(self, call)
  end
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
  if call.epoch then
    talks().answered(self, call)
  end
  given.result(call, entry)
end

---Something of a step's is due then: its next attempt.
---@param at integer  of steady.lua
---@param step skillrt.Step
function Calls:ring(at, step)
  self.used = true
  self.due:put(at, step)
end

---A sleep is over, or the wait before an attempt of a call that was taken up.
---@param call skillrt.Call
function Calls:rang(call)
  if call.program then
    return programs.rang(self, call)
  end
  local gate = call.request.gate
  if call.execution.ended or call.execution.calls[call.place] ~= call then
    return -- it was dropped
  elseif waits.begin[call.kind] then
    waits.rang(self, call)
  elseif gate and over.is_too_long(call, gate:left(steady.now())) then
    local message = gate:why() or "its rate is used up"
    self:settle(call, { unsent = true, failed = { class = "rate_limit", message = message } })
  else
    self:start(call)
  end
end

return Calls
