-- run/call/kind/wait.lua: a wait for an event from outside. Found by its name; run/turn.lua calls `match`.

local alarm = require("skillrt.run.call.alarm")
local arrivals = require("skillrt.run.books.arrivals")
local names = require("skillrt.base.names")

---@class skillrt.call.Wait: skillrt.CallKind
local M = { asks = true }

function M.begin(calls, call)
  local event, books = call.request.event, calls.run.books
  local open = alarm.ask(calls, call, { event = event, w = (books.waits or 0) + 1 },
    alarm.ends_at(call.request.timeout))
  call.w = open.w
  alarm.set(calls, call, open, call.request.timeout)
  local list = calls.waiters[event] or {}
  calls.waiters[event] = list
  local at = #list + 1
  while at > 1 and list[at - 1].w > call.w do -- the longest waiting call is first, however they are resumed
    at = at - 1
  end
  table.insert(list, at, call)
  calls.unmatched[event] = true
end
M.take_up = M.begin

---Removes it from the waiters.
---@param calls skillrt.Calls
---@param call skillrt.Call
function M.over(calls, call)
  local event = call.request.event
  local list = calls.waiters[event]
  for i, one in ipairs(list or {}) do
    if one == call then
      table.remove(list, i)
      break
    end
  end
  if list and #list == 0 then
    calls.waiters[event] = nil
  end
end

function M.rang(calls, call)
  local text = ("the event %s did not come within %g seconds"):format(call.request.event, call.request.timeout)
  calls:settle(call, { w = call.w, failed = { class = "timeout", message = text } })
end

function M.give_up(calls, call)
  M.over(calls, call)
  return true
end

function M.value(_, entry)
  return entry.value
end

---Gives events to the calls that wait for them, the oldest to the oldest.
---@param calls skillrt.Calls
function M.match(calls)
  local books = calls.run.books
  while next(calls.unmatched) do
    local unmatched = names.sorted(calls.unmatched)
    calls.unmatched = {}
    for _, name in ipairs(unmatched) do
      local list, first = calls.waiters[name], arrivals.first(books, name)
      while list and list[1] and first do
        local call = list[1]
        calls:settle(call, { w = call.w, event = name, value = first.value, took = first.arrival or true })
        call.execution:go_on()
        list, first = calls.waiters[name], arrivals.first(books, name)
      end
    end
  end
end

return M
