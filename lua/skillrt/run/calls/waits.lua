-- run/calls/waits.lua: calls that leave for nowhere: a sleep, a question to a person, an event from outside. What
-- begins them and what ends them.
--
-- Each has a record with the time it ends at, so that a resume waits the rest and never longer. Knows calls
-- and the books; who listens for answers and events knows policy.lua. Part of calls.lua.

local arrived = require("skillrt.run.books.arrived")
local steady = require("skillrt.run.steady")
local late = require("skillrt.run.calls.late")

local M = {}

---How each kind begins.
local begin = {}
M.begin = begin

-- The record of a wait, and when it ends; one that is in the books already has its own.
local function record_of(self, call, fields, ends_at)
  local open = call.step.calls[call.place]
  if not open then
    fields.t, fields.kind, fields.digest, fields.due = "call", call.kind, call.digest, ends_at
    self:emit(call, fields)
    return fields
  end
  return open
end

local function in_seconds(self, seconds)
  return seconds and self.run.core.wall_ms() + math.ceil(seconds * 1000)
end

-- Puts a wait among what is due: it is never longer away than the whole of it.
local function set_alarm(self, call, open, seconds)
  if open.due then
    self.due:put(steady.at(self.run, open.due, seconds and math.ceil(seconds * 1000)), call)
  end
end

function begin.sleep(self, call)
  local request = call.request
  local at = request.until_ or in_seconds(self, request.seconds)
  local open = record_of(self, call, {}, at)
  call.slept_from = steady.at(self.run, open.at)
  if request.until_ then
    call.instant = math.min(at, open.due)
    self.due:put(steady.look(call.instant), call)
  else
    set_alarm(self, call, open, request.seconds)
  end
end

function begin.ask(self, call)
  local request, books = call.request, self.run.books
  local ends_at = in_seconds(self, request.timeout)
  local open = record_of(self, call, {
    q = (books.asked or 0) + 1,
    question = request.question,
    nonce = self.run.core.uuid():sub(1, 8),
  }, ends_at)
  call.q = open.q
  set_alarm(self, call, open, request.timeout)
end

function begin.wait(self, call)
  local event, books = call.request.event, self.run.books
  local ends_at = in_seconds(self, call.request.timeout)
  local open = record_of(self, call, { event = event, w = (books.waits or 0) + 1 }, ends_at)
  call.w = open.w
  set_alarm(self, call, open, call.request.timeout)
  local list = self.waiters[event] or {}
  self.waiters[event] = list
  local at = #list + 1
  while at > 1 and list[at - 1].w > call.w do -- who has waited longest is first, in whatever order they come back
    at = at - 1
  end
  table.insert(list, at, call)
  self.unmatched[event] = true
end

-- What ends each kind when its time has come.
local rang = {}

function rang.sleep(self, call)
  if call.instant and call.instant > self.run.core.wall_ms() then -- the wall clock was set
    return self.due:put(steady.look(call.instant), call)
  end
  self:settle(call, { reply = { status = "ok", elapsed_ms = steady.now() - call.slept_from } })
end

-- A question is over.
local function asked(self, call)
  local open = call.step.calls[call.place]
  late.answered(self, call.step, open and open.at)
end

function rang.ask(self, call)
  asked(self, call)
  local default = call.request.question.default
  if default ~= nil then
    return self:settle(call, { q = call.q, value = default, unanswered = true })
  end
  local text = ("nobody answered within %g seconds: %s"):format(call.request.timeout, call.request.question.question)
  self:settle(call, { q = call.q, failed = { class = "timeout", message = text } })
end

function rang.wait(self, call)
  M.forget(self, call)
  local text = ("the event %s did not come within %g seconds"):format(call.request.event, call.request.timeout)
  self:settle(call, { w = call.w, failed = { class = "timeout", message = text } })
end

---The time of a wait has come.
---@param self skillrt.Calls
---@param call skillrt.Call
function M.rang(self, call)
  local world = self.run.world
  if world and world.holds and world:holds(call) then
    return -- a recording says when
  end
  rang[call.kind](self, call)
end

---A wait is not waited for any more.
---@param self skillrt.Calls
---@param call skillrt.Call
function M.forget(self, call)
  local list = call.w and self.waiters[call.request.event]
  for i, one in ipairs(list or {}) do
    if one == call then
      table.remove(list, i)
      break
    end
  end
  if list and #list == 0 then
    self.waiters[call.request.event] = nil
  end
end

---A person answered.
---@param self skillrt.Calls
---@param call skillrt.Call
---@param answer table  { value, arrival }
function M.answered(self, call, answer)
  asked(self, call)
  self:settle(call, { q = call.q, value = answer.value, arrival = answer.arrival,
    approval = call.request.question.approval })
end

---Gives what has come to those who wait for it, the oldest to the oldest.
---@param self skillrt.Calls
---@param go_on fun(step: skillrt.Step)
function M.match(self, go_on)
  local books = self.run.books
  while next(self.unmatched) do
    local names = {}
    for name in pairs(self.unmatched) do
      names[#names + 1] = name
    end
    table.sort(names)
    self.unmatched = {}
    for _, name in ipairs(names) do
      local list = self.waiters[name]
      local first = arrived.first(books, name)
      while list and list[1] and first do
        local call = list[1]
        M.forget(self, call)
        self:settle(call, { w = call.w, event = name, value = first.value, took = first.arrival or true })
        go_on(call.step)
        list, first = self.waiters[name], arrived.first(books, name)
      end
    end
  end
end

return M
