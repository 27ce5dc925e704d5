-- run/call/calls.lua: the calls of a run: declared by a step, started, recorded, finished.
--
-- A call has an intent before each attempt and one result. queue.lua decides when it is sent, reply.lua what its
-- reply means and what its branch gets; run/call/kind/<kind>.lua has what differs by kind. Knows the books, no agents
-- and no modes. Called by turn.lua, which has one for a run and its sub-runs.

local Call = require("skillrt.run.call.call")
local due = require("skillrt.base.heap")
local execution_of = require("skillrt.run.branch.execution")
local queue_of = require("skillrt.run.call.queue")
local record = require("skillrt.base.record")
local repeats = require("skillrt.mode.repeats")
local reply_of = require("skillrt.run.call.reply")
local request_of = require("skillrt.agent.request")

---@class skillrt.CallKind  what differs between kinds; transport.lua has the common part of calls that are sent
---@field begin fun(calls: skillrt.Calls, call: skillrt.Call)  starts a call of which nothing is recorded
---@field take_up fun(calls: skillrt.Calls, call: skillrt.Call, open: table)  continues a call that an earlier process
---  started
---@field rang nil|fun(calls: skillrt.Calls, call: skillrt.Call)  its time has come
---@field send nil|fun(calls: skillrt.Calls, call: skillrt.Call): table|nil  records its intent; returns its task
---@field fill nil|fun(calls: skillrt.Calls, call: skillrt.Call, task: table, entry: table)  ... adds the fields of
---  its kind
---@field replied nil|fun(calls: skillrt.Calls, call: skillrt.Call, reply: table|nil)  a reply came; local: perform
---  the function
---@field came nil|fun(calls: skillrt.Calls, call: skillrt.Call, reply: table)  before the reply is judged
---@field failed nil|fun(calls: skillrt.Calls, call: skillrt.Call, reply: table, failure: table): boolean, integer|nil
---  it failed: returns whether that is handled, or the wait before the next attempt
---@field give_up fun(calls: skillrt.Calls, call: skillrt.Call, open: table|nil): boolean  whether it is gone at once
---@field over nil|fun(calls: skillrt.Calls, call: skillrt.Call)  its result is recorded
---@field value nil|fun(call: skillrt.Call, entry: table): any  what its branch gets of the result; default: its reply
---@field acts_here boolean|nil  it is a function of this process
---@field asks boolean|nil       it is not sent: a person, a time or an event ends it

---@class skillrt.World  replaces the transports and lets time pass: in tests (test/world.lua) and replays
---  (test/replay/world.lua)
---@field takes fun(world, call: skillrt.Call): boolean  it answers the call: nothing is sent
---@field perform fun(world, call: skillrt.Call): table|nil, table|nil  its intent is durable: returns a reply; or the
---  fields of a result record; or nothing yet: then `answered` is called later
---@field holds nil|fun(world, call: skillrt.Call): boolean  it decides when a wait ends
---@field idle fun(world, turn: skillrt.Turn): boolean  nothing is under way: whether it has changed something
---@field dress fun(world, skill: skillrt.Skill)  changes a skill that was prepared for a run
---@field opened fun(world, run: userdata)

---@class skillrt.Calls
---@field run skillrt.Run
---@field journal skillrt.Journal
---@field session skillrt.Session
---@field queue skillrt.Queue
---@field due skillrt.Heap     everything with a time: calls, steps, programs to be noted
---@field order integer        how many were declared
---@field doubts skillrt.Call[]     calls whose outcome is unknown
---@field undecided skillrt.Call[]  ... of these, those that `on_indoubt` has not decided about yet
---@field opening skillrt.Call[]    calls whose sub-runs are to be opened
---@field scopes table<string, skillrt.Sub>  by id: sub-runs under way
---@field waiters table<string, skillrt.Call[]>  by event: the calls that wait for it, the oldest first
---@field unmatched table<string, true>          events that may have a new waiter
---@field sessions table<string, skillrt.LiveSession>  by name: sessions that have not ended
---@field begun table<string, integer>  ... the number of the last one started in this process
---@field fed table<string, table>      ... answered messages that are replayed to its next program
---@field forgetful table<string, boolean>  ... its server forgot the last one before it accepted a message
---@field has_agents boolean  an agent was asked: a person may steer it
---@field watcher table|nil
---@field watching table|nil  the soft deadline that is watched (soft_deadline.lua)
local Calls = {}
Calls.__index = Calls

---@param run skillrt.Run
---@param journal skillrt.Journal
---@param session skillrt.Session
---@param watcher table|nil
---@return skillrt.Calls
function Calls.new(run, journal, session, watcher)
  local self = setmetatable({
    run = run,
    journal = journal,
    session = session,
    due = due.new(),
    order = 0,
    doubts = {},
    undecided = {},
    opening = {},
    scopes = {},
    waiters = {},
    unmatched = {},
    sessions = {},
    begun = {},
    fed = {},
    forgetful = {},
    has_agents = false,
    watcher = watcher,
  }, Calls)
  self.queue = queue_of.new(self)
  return self
end

-- ---- declared ----

-- Compares what is asked for with what is recorded at its place. If something else is expected there, the recorded
-- call is forgotten, except one that acted in an earlier attempt: a different path must not make it act a second
-- time. `kind`: of the call that is asked for now; nil: it is none.
local function compare(self, execution, place, digest, to, kind)
  local step = execution.step
  local before = step.known[place] or step.tools[place] or step.calls[place]
  if not before or not before.digest or before.digest == digest then
    return
  elseif not before.pure and (execution:is_exact() or not repeats.may_differ(step, before)) then
    execution:diverge(place, before.to or before.kind == "ask" and "a question" or before.digest, to)
  elseif step.known[place] or not repeats.acted(before) then -- a call that was sent and may have acted needs a decision
    assert(self.journal:emit({ t = "drop", step = step.number, from = { place } }))
  elseif kind and not repeats.ACTS[kind] then -- a question, a time or a sub-run takes up no such call
    execution:diverge(place, before.to or before.kind, to)
  end
end

---A tool is used, or a value kept, at a place where something else may be recorded.
---@param execution skillrt.Execution
---@param place string
---@param digest string
---@return boolean  false: the step has diverged
function Calls:may_take(execution, place, digest)
  compare(self, execution, place, digest, digest)
  local open = execution.step.calls[place]
  if open then
    execution:diverge(place, open.to or open.kind, digest) -- it was sent, and may have acted
  end
  return execution.state ~= "diverged"
end

---A call of a branch; it starts when there is a slot, or returns what is recorded.
---@param execution skillrt.Execution
---@param branch skillrt.Branch
---@param request table
---@return skillrt.Call
function Calls:declare(execution, branch, request)
  local step = execution.step
  self.order = self.order + 1
  local call = Call.new({
    place = execution:place(branch),
    step = step,
    branch = branch,
    execution = execution,
    request = request,
    kind = request.kind,
    ways = require("skillrt.run.call.kind." .. request.kind),
    to = Call.target_of(request),
    digest = Call.digest_of(request, step.live.home.run),
    idem = request.idempotent == true,
    order = self.order,
  })
  compare(self, execution, call.place, call.digest, call.to, call.kind)
  execution:enter(call)
  return call
end

---In a replay: what has a place like a call is delivered after everything recorded before it.
---@param branch skillrt.Branch
---@param place string
---@param kind string
---@param ways table
---@return any ...  what it gives
function Calls:wait_for_turn(branch, place, kind, ways)
  local execution = branch.execution
  execution:enter(Call.new({ place = place, step = execution.step, branch = branch, execution = execution,
    request = {}, kind = kind, ways = ways, to = "a " .. kind, order = self.order }))
  return coroutine.yield(execution_of.WAIT)
end

---The beginning of the idempotency key of the branch's next call.
---@param step skillrt.Step
---@param place string
---@return string
function Calls:beginning_of_key(step, place)
  return ("%s-%d-%s-%d"):format(self.run.books.run_id, step.number, place, 1 + (step.generations[place] or 0))
end

---The idempotency key of a call that is sent. It ends with the digest of what was declared, so that no key stands for
---two requests: where the step has forgotten what it sent, a changed script may make a different call.
---@param call skillrt.Call
---@return string
function Calls:key_of(call)
  if not call.key then
    local beginning = self:beginning_of_key(call.step, call.place)
    call.key = beginning .. "-" .. call.digest:sub(1, 16)
    request_of.complete_key(call.request, beginning, call.key)
  end
  return call.key
end

---A call gets its slot: it returns what is recorded, continues what is under way, or starts.
---@param call skillrt.Call
function Calls:begin(call)
  local execution, step, place = call.execution, call.step, call.place
  local known, open = step.known[place], step.calls[place]
  if known and not execution.taken[place] then -- results that a further attempt keeps
    self:give(call, known)
  elseif open then
    call.ways.take_up(self, call, open)
  else
    call.ways.begin(self, call)
  end
end

-- ---- recorded ----

---A record of a call.
---@param call skillrt.Call
---@param entry table
function Calls:emit(call, entry)
  entry.step, entry.c = call.step.number, call.place
  local ok, message = self.journal:emit(entry)
  if not ok and entry.t == "result" then -- too large as JSON, for example: that is its result, and it is not repeated
    entry.reply, entry.value = nil, nil
    entry.failed = { class = "permanent", message = record.printable("its result cannot be recorded: " .. message) }
    ok, message = self.journal:emit(entry)
  end
  if not ok then
    error(("%s: call %s: %s"):format(call.step.id, call.place, message), 0)
  end
end

---A due call is sent: records its intent.
---@param call skillrt.Call
---@return table|nil task  nil: it is performed in this process
function Calls:task(call)
  local task = call.ways.send(self, call)
  call:become("sent")
  if call.reservation then
    self.run.limits.sent(call.reservation)
  end
  return task
end

-- ---- its end ----

---Something arrived for a call that was sent.
---@param call skillrt.Call
---@param reply table|nil  nil: it is performed in this process, and may start
---@param number integer  the engine's
function Calls:replied(call, reply, number)
  if call.world and not reply then
    call.number = false -- a call that is not under way cannot be cancelled
    self:answered(call, call.world:perform(call))
  else
    call.ways.replied(self, call, reply)
  end
  if not call.talk then -- otherwise its session answers it
    self.queue.under_way[number] = nil
  end
end

---A session delivers a call's reply.
---@param call skillrt.Call
---@param reply table
function Calls:answer(call, reply)
  local number = call.number
  if call:open() then -- otherwise an interruption came after its result
    reply_of.take(self, call, reply)
  end
  call.talk = false
  self.queue.under_way[number] = nil
  if self.run.phase ~= "stopping" then
    call.execution:go_on()
  end
end

---The run is to stop: closes sessions at their servers; whether that is under way.
---@return boolean
function Calls:give_back()
  local is_under_way = false
  for _, session in pairs(self.sessions) do
    is_under_way = session.url ~= nil and session.way.give_back(session) or is_under_way
  end
  return is_under_way
end

---The result from the world that replaces the transports: a reply, the fields of a record, or nothing yet.
---@param call skillrt.Call
---@param reply table|nil
---@param entry table|nil
function Calls:answered(call, reply, entry)
  if reply then
    call.ways.replied(self, call, reply)
  elseif entry then
    self:settle(call, entry)
  end
end

---The call has finished: records its result, then delivers it to its branch.
---@param call skillrt.Call
---@param entry table  of its `result`
---@param ok boolean|nil  what its reply means, if that was judged
---@param value any
function Calls:settle(call, entry, ok, value)
  entry.t = "result"
  entry.own = call.request.retry and true or nil
  call.number = false
  if call.reservation then
    self.queue:over(call)
  end
  self:emit(call, entry)
  if call.ways.over then
    call.ways.over(self, call)
  end
  reply_of.give(call, entry, ok, value)
end

---Gives a recorded result to its branch.
---@param call skillrt.Call
---@param known table  of the books
function Calls:give(call, known)
  if call.ways.over then
    call.ways.over(self, call)
  end
  reply_of.give(call, self.journal:reread(known))
end

---A branch was cancelled: its call is not wanted any more. True: it is gone already.
---@param call skillrt.Call
---@param live boolean  all recorded results are delivered
---@return boolean gone
function Calls:give_up(call, live)
  local open = call:open()
  if not live then
    return not (open or call.step.known[call.place]) -- recorded results still arrive, and are ignored
  elseif not call.ways.give_up(self, call, open) then
    return false
  end
  if open then
    local unsent = call.ways.asks or open.failed ~= nil or nil
    local failed = { class = "canceled", message = "not waited for any more" }
    self:emit(call, { t = "result", unsent = unsent, q = open.q, failed = failed })
    call.execution:take(call.place)
  end
  return true
end

---An event came, or a call waits for one: matches them.
---@param name string
function Calls:event_came(name)
  self.unmatched[name] = true
end

---The calls whose sub-runs are to be opened.
---@return skillrt.Call[]
function Calls:take_opening()
  local opening = self.opening
  self.opening = {}
  return opening
end

---The calls whose outcome is unknown and which `on_indoubt` has not decided about yet.
---@return skillrt.Call[]
function Calls:take_undecided()
  local undecided = self.undecided
  self.undecided = {}
  return undecided
end

---Something of a step is due then: its next attempt.
---@param at integer  of steady.lua
---@param step skillrt.Step
function Calls:ring(at, step)
  self.due:put(at, step)
end

---The time of a call has come: the end of a sleep, or its next attempt.
---@param call skillrt.Call
function Calls:rang(call)
  local world = call.state == "asked" and self.run.world
  if call:is_awaited() and not (world and world.holds and world:holds(call)) then -- a recording decides when
    call.ways.rang(self, call)
  end
end

return Calls
