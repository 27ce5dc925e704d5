-- run/call/queue.lua: decides when a call is sent that has its slots in the combinators above it
-- (branch/execution.lua).
--
-- Two things hold it back: its agent's gate, and the limits of its action, its sub-run and the run. Calls are sent in
-- the order in which they started to wait. Knows limits and gates, no kinds of calls. Called by calls.lua.

local core = require("skillrt.core")
local repeats = require("skillrt.mode.repeats")

---@class skillrt.Queue
---@field calls skillrt.Calls
---@field last integer         the last number that was used; the engine knows only numbers
---@field under_way table<integer, skillrt.Call|skillrt.Step|skillrt.Errand>  ... and what they stand for: a call, a
---  step to be performed, a message
---@field lines table<integer, skillrt.Errand>  ... programs and streams, which the run does not wait for
---@field starting integer[]  numbers of calls whose tasks are requested with the next batch
---@field again skillrt.Step[]  steps to be performed again when the store is read: in `load`
---@field acting integer[]    ... calls that are performed in this process
---@field cancels integer[]   ... calls that the engine is to cancel
---@field withdrawn boolean   `starting` contains calls that must not be sent any more
---@field held table[]        by list of bounds: { bounds, first, last, [integer] = skillrt.Call }, the oldest first
local Queue = {}
Queue.__index = Queue

---@param calls skillrt.Calls
---@return skillrt.Queue
function Queue.new(calls)
  return setmetatable({ calls = calls, last = 0, under_way = {}, lines = {}, starting = {}, again = {},
    acting = {}, cancels = {}, withdrawn = false, held = {} }, Queue)
end

---The engine's number for a call, or for a step to be performed.
---@param what skillrt.Call|skillrt.Step
---@return integer
function Queue:number(what)
  local number = self.last + 1
  self.last, self.under_way[number] = number, what
  return number
end

---What a number of the engine stands for; nil: it has finished.
---@param number integer
---@return skillrt.Call|skillrt.Step|skillrt.Errand|nil
function Queue:find(number)
  return self.under_way[number] or self.lines[number]
end

---Starts an errand that the run does not wait for.
---@param errand skillrt.Errand
function Queue:run(errand)
  self.last = self.last + 1
  errand.number, self.lines[self.last] = self.last, errand
  table.insert(self.starting, self.last)
end

---Starts an errand that ends before the run does.
---@param errand skillrt.Errand
function Queue:act(errand)
  errand.number = self:number(errand)
  table.insert(self.starting, errand.number)
end

---Performs an errand in this process, once everything that is recorded so far is durable.
---@param errand skillrt.Errand
function Queue:perform(errand)
  table.insert(self.acting, self:number(errand))
end

---The engine has finished an errand, which may start again. If that is interrupted, the engine reports it once more.
---@param errand skillrt.Errand
---@param number integer
---@param reply table
function Queue:ended(errand, number, reply)
  errand.number = nil
  errand:over(reply)
  self:forget(number)
end

---Gives up an errand: its end is not reported.
---@param errand skillrt.Errand
function Queue:give_up(errand)
  local number = errand.number
  if not number then
    return
  end
  errand.number = nil
  self:forget(number)
  for i, other in ipairs(self.starting) do
    if other == number then
      table.remove(self.starting, i)
      return
    end
  end
  table.insert(self.cancels, number)
end

---A step is performed again when the store is read.
---@param step skillrt.Step
function Queue:perform_again(step)
  self.again[#self.again + 1] = step
end

---Forgets a number of the engine.
---@param number integer
function Queue:forget(number)
  self.under_way[number], self.lines[number] = nil, nil
end

---Forgets what was about to be sent or performed: it stays open in the books, and a resume continues it.
---@param performing integer[]  numbers of steps
function Queue:keep_back(performing)
  for _, list in ipairs({ performing, self.again, self.starting, self.acting }) do
    for i = #list, 1, -1 do
      local what = self:find(list[i])
      if not (what and what.errand) then -- otherwise it belongs to a call that was sent
        self:forget(list[i])
        table.remove(list, i)
      end
    end
  end
end

---Makes the engine cancel all calls.
---@param spares boolean?  except those that may act and may not be repeated
function Queue:cancel_all(spares)
  for _, what in pairs(self.under_way) do
    local acts = spares and what.place and repeats.ACTS[what.kind] and not (what.idem or what.request.pure)
    if what.place and not acts then
      self:stop(what)
    end
  end
end

-- The longest wait for an agent where another one may be asked.
local PATIENCE_MS <const> = 60 * 1000

---Whether a call is not to wait that long, as another agent can be asked.
---@param call skillrt.Call
---@param ms integer
---@return boolean
function Queue.is_too_long(call, ms)
  local settings = call.request.retry
  return settings ~= nil and settings.waits == false and ms > PATIENCE_MS
end

-- Whether the gate of a call's agent is closed: the call then waits, unless another agent may be asked.
local function waits_at_gate(self, call)
  local gate = call.request.gate
  if not gate then
    return false
  end
  local now = core.mono_ms()
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
    return true -- it is not one of those that wait for room
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

---Lets a call wait until then.
---@param call skillrt.Call
---@param at integer  of steady.lua
function Queue:pace(call, at)
  call:become("paced")
  self.calls.due:put(at, call)
end

---Sends a call once its limits have room and its agent's gate is open; it queues after others that wait for the same
---bounds.
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

-- Sends the first calls of a queue while there is room; returns whether any is left. Only the first one is checked.
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

---Sends calls that limits held back, as far as there is room now.
function Queue:admit_held()
  for i = #self.held, 1, -1 do
    if not go_on_with(self, self.held[i]) then
      table.remove(self.held, i)
    end
  end
end

-- Releases what was reserved for a call that is not under way any more.
local function give_back(self, call)
  if call.number then
    self.under_way[call.number] = nil
  end
  self:over(call)
end

---A call is not under way any more: frees what its limits reserved for it.
---@param call skillrt.Call
function Queue:over(call)
  call.number = false
  if call.reservation then
    self.calls.run.limits:over(call.reservation)
    call.reservation = false
  end
end

---A due call is not to be sent.
---@param call skillrt.Call
function Queue:withdraw(call)
  give_back(self, call)
  self.withdrawn = true
end

---A call that was sent was given up: the engine is to cancel it.
---@param call skillrt.Call
function Queue:cancel(call)
  call:become("canceling")
  self:stop(call)
end

---The same for a call that stays open in the books.
---@param call skillrt.Call
function Queue:stop(call)
  if call.talk then -- soon: it may be in the middle of its branch's code
    self.calls.due:put(core.mono_ms(), { ring = function()
      if call.talk then
        call.talk:cancel(call)
      end
    end })
  else
    self.cancels[#self.cancels + 1] = call.number
  end
end

---An agent refused until a given time: sends nothing more to it, nor what was due now.
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

---The calls and errands to be performed in this process, whose intents are durable.
---@param performing integer[]  their numbers are added
function Queue:hand_over(performing)
  for i, number in ipairs(self.acting) do
    local call = self.under_way[number]
    self.acting[i] = nil
    if call then -- otherwise it was given up meanwhile
      if not call.errand then
        self.calls:task(call)
      end
      performing[#performing + 1] = number
    end
  end
end

---Removes withdrawn calls from `starting`.
function Queue:sift()
  local starting, kept = self.starting, 0
  for i = 1, #starting do
    local number = starting[i]
    starting[i] = nil
    if self:find(number) then
      kept = kept + 1
      starting[kept] = number
    end
  end
  self.withdrawn = false
end

return Queue
