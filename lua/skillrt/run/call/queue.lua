-- run/call/queue.lua: when a call may be sent: the one place that says so.
--
-- Three things hold a call back, in this order: the combinators above it (`max_parallel`), the limits of its action,
-- its sub-run and the run, and the gate of its agent. Whoever waits first is sent first. `max_parallel` counts calls,
-- never branches, so that nesting cannot block itself; a call whose result follows from others (`pure`) and the
-- deadline of `within` take no place. Knows limits and gates, no kinds of calls. Called by calls.lua.

local steady = require("skillrt.run.steady")

---@class skillrt.Queue
---@field calls skillrt.Calls
---@field last integer         the engine knows numbers only: the last one that was used
---@field under_way table<integer, skillrt.Call|skillrt.Step>  ... and what they mean: a call, or a step to be performed
---@field starting integer[]  numbers of calls whose tasks are asked for with the next batch
---@field acting integer[]    ... of those that are performed in this process
---@field cancels integer[]   ... of those that the engine is to cancel
---@field withdrawn boolean   `starting` names calls that are not to be sent any more
---@field held table[]        by list of bounds: { bounds, first, last, [integer] = skillrt.Call }, the oldest first
local Queue = {}
Queue.__index = Queue

---@param calls skillrt.Calls
---@return skillrt.Queue
function Queue.new(calls)
  return setmetatable({ calls = calls, last = 0, under_way = {}, starting = {},
    acting = {}, cancels = {}, withdrawn = false, held = {} }, Queue)
end

---The engine's number of a call, or of a step to be performed.
---@param what skillrt.Call|skillrt.Step
---@return integer
function Queue:number(what)
  local number = self.last + 1
  self.last, self.under_way[number] = number, what
  return number
end

-- ---- room in combinators ----

-- The first combinator above a call that has no room; nil: there is room.
local function full_above(call)
  local scope = call.branch.scope
  while scope do
    if scope.limit and scope.out >= scope.limit then
      return scope
    end
    scope = scope.above
  end
end

local function admit(self, call)
  local counts = not (call.request.pure or call.branch.is_deadline)
  local full = counts and full_above(call)
  if full then
    call:become("waiting")
    full.waiting[#full.waiting + 1] = call
    return
  elseif call.state == "waiting" then
    call:become("declared")
  end
  call.room = counts and "place" or "free"
  local scope = counts and call.branch.scope
  while scope do
    scope.out = scope.out + 1
    scope = scope.above
  end
  if call.execution.state == "live" then
    self.calls:begin(call)
  end
end

-- A place is free: who waited first for it gets it.
local function fill(self, scope)
  local waiting = scope.waiting
  while scope.first <= #waiting and (not scope.limit or scope.out < scope.limit) do
    local call = waiting[scope.first]
    waiting[scope.first] = false
    scope.first = scope.first + 1
    if call and call.state == "waiting" then
      admit(self, call)
    end
  end
  if scope.first > #waiting then
    scope.waiting, scope.first = {}, 1
  end
end

---A call of a branch: counted in each combinator above it; it begins when there is room.
---@param call skillrt.Call
function Queue:enter(call)
  call.execution.calls[call.place] = call
  local scope, is_free = call.branch.scope, call.request.pure or call.branch.is_deadline
  while scope do
    scope.open = scope.open + 1
    scope.free = scope.free + (is_free and 1 or 0)
    scope = scope.above
  end
  admit(self, call)
end

---A call is over or dropped: its places are free.
---@param call skillrt.Call
function Queue:leave(call)
  local execution, scope, room = call.execution, call.branch.scope, call.room
  execution.calls[call.place] = nil
  call:become("finished")
  call.room = false
  local at = scope
  while at do
    at.open = at.open - 1
    at.out = room == "place" and at.out - 1 or at.out
    at.free = room == "free" and at.free - 1 or at.free
    at = at.above
  end
  at = scope
  while at do
    fill(self, at)
    if at.feed then
      execution:feed(at)
    end
    if at.open == 0 and at.quiet then
      at.quiet()
    end
    at = at.above
  end
  execution:settle()
end

---Nobody waits for a call any more, and its end comes later: no branch begins in its place before that, as none did
---when it was recorded.
---@param call skillrt.Call
function Queue.keep_place(call)
  local scope = call.room == "free" and call.branch.scope
  while scope do
    scope.free = scope.free - 1
    scope = scope.above
  end
  call.room = call.room == "place" and "place" or false
end

-- ---- limits and gates ----

-- Where another agent may be asked, one is not waited for longer.
local PATIENCE_MS <const> = 60 * 1000

---Whether a call is not to wait that long, as there is another agent to ask.
---@param call skillrt.Call
---@param ms integer
---@return boolean
function Queue.is_too_long(call, ms)
  local settings = call.request.retry
  return settings ~= nil and settings.waits == false and ms > PATIENCE_MS
end

-- Whether the gate of the agent that a call asks is closed: it waits until then; or not, where another may be asked.
local function waits_at_gate(self, call)
  local gate = call.request.gate
  if not gate then
    return false
  end
  local now = steady.now()
  local wait = gate:wait(now, call.has_turn)
  if wait > 0 then
    call.has_turn = true -- within the rates that are declared
    self:pace(call, Queue.is_too_long(call, gate:left(now)) and now or now + wait)
  end
  return wait > 0
end

-- Lets a call be sent with the next batch; false: a limit has no room for it.
local function let_go(self, call)
  if waits_at_gate(self, call) then
    return true -- it is none of those that wait for room
  end
  local run = self.calls.run
  local free, reservation = run.limits:admit(call)
  if not free then
    return false
  end
  call:become("due")
  call.reservation, call.number, call.has_turn = reservation or false, self:number(call), false
  call.world = run.world and run.world:takes(call) and run.world or false
  table.insert((call.ways.acts_here or call.world) and self.acting or self.starting, call.number)
  return true
end

---A call waits until then.
---@param call skillrt.Call
---@param at integer  of steady.lua
function Queue:pace(call, at)
  call:become("paced")
  self.calls.due:put(at, call)
end

---Sends a call once its limits have room and its agent's gate is open; where others wait within the same bounds,
---behind them.
---@param call skillrt.Call
function Queue:send(call)
  local held = self.held
  local bounds = held[1] and self.calls.run.limits.bounds_of(call)
  for _, queue in ipairs(held) do
    if queue.bounds == bounds then
      call:become("held")
      queue.last = queue.last + 1
      queue[queue.last] = call
      return
    end
  end
  if not let_go(self, call) then
    call:become("held")
    held[#held + 1] = { bounds = self.calls.run.limits.bounds_of(call), first = 1, last = 1, call }
  end
end

-- Those at the head of a queue are sent while there is room; whether any is left. Only the first is asked about.
local function go_on_with(self, queue)
  while queue.first <= queue.last do
    local call = queue[queue.first]
    if call:is_awaited() and not let_go(self, call) then
      return true
    end
    queue[queue.first], queue.first = nil, queue.first + 1
  end
  return false
end

---Calls that limits held back are sent as far as there is room for them now.
function Queue:admit_held()
  for i = #self.held, 1, -1 do
    if not go_on_with(self, self.held[i]) then
      table.remove(self.held, i)
    end
  end
end

-- What was kept for a call that is not under way any more.
local function give_back(self, call)
  if call.number then
    self.under_way[call.number] = nil
  end
  self:over(call)
end

---A call is not under way any more: what its limits kept for it is free.
---@param call skillrt.Call
function Queue:over(call)
  call.number = false
  if call.reservation then
    self.calls.run.limits:over(call.reservation)
    call.reservation = false
  end
end

---A call that is due is not to be sent.
---@param call skillrt.Call
function Queue:withdraw(call)
  give_back(self, call)
  self.withdrawn = true
end

---Nobody waits for a call that was sent: the engine is to cancel it.
---@param call skillrt.Call
function Queue:cancel(call)
  call:become("canceling")
  self.cancels[#self.cancels + 1] = call.number
end

---An agent refused, and says until when: nothing more of it is sent, nor what was due now.
---@param gate skillrt.Gate
---@param until_ms integer  of steady.lua
---@param why string
function Queue:close(gate, until_ms, why)
  gate:close(until_ms, why)
  for _, list in ipairs({ self.starting, self.acting }) do
    for i = #list, 1, -1 do
      local call = self.under_way[list[i]]
      if call and call.state == "due" and call.request.gate and call.request.gate.at == gate.at then
        table.remove(list, i)
        give_back(self, call)
        self:pace(call, until_ms)
      end
    end
  end
end

---The calls that are performed in this process once their intents are durable.
---@param performing integer[]  their numbers are added
function Queue:hand_over(performing)
  for i, number in ipairs(self.acting) do
    local call = self.under_way[number]
    self.acting[i] = nil
    if call then -- else it was given up meanwhile
      self.calls:task(call)
      performing[#performing + 1] = number
    end
  end
end

---Takes the calls out of `starting` that were withdrawn.
function Queue:sift()
  local starting, kept = self.starting, 0
  for i = 1, #starting do
    local number = starting[i]
    starting[i] = nil
    if self.under_way[number] then
      kept = kept + 1
      starting[kept] = number
    end
  end
  self.withdrawn = false
end

return Queue
