-- run/calls/late.lua: steps that take longer than their skill's soft deadline: said once in the journal, and the
-- step goes on (R178, F67).
--
-- One time at once is watched, however many steps are open, and only where one waits for a call: what waits for
-- people, and the time that a run was closed, do not count. Knows calls and books. Part of calls.lua and policy.lua.

local steady = require("skillrt.run.steady")

local M = {}

local function seconds_of(calls, step)
  return (step.home or calls).run.skill.timeouts.step
end

-- Whether somebody is asked something for a step.
local function asks(step)
  for _, call in pairs(step.calls) do
    if call.q or call.asked then
      return true
    end
  end
  return false
end

-- When a step is late, as the wall clock goes.
local function late_at(books, step, seconds)
  return math.max(step.started_at, books.opened_at or 0) + (step.people_ms or 0) + math.ceil(seconds * 1000)
end

local function put(calls, utc, seconds)
  calls.watching = true
  calls:ring(steady.at(calls.run, utc, math.ceil(seconds * 1000)), { watches = true })
end

---A call of a step leaves.
---@param calls skillrt.Calls
---@param step skillrt.Step
function M.watch(calls, step)
  local seconds = seconds_of(calls, step)
  if seconds > 0 and not step.late then
    put(calls, late_at(calls.run.books, step, seconds), seconds)
  end
end

---The time that was watched has come.
---@param policy skillrt.Policy
function M.rang(policy)
  local calls, books, next_at, next_seconds = policy.calls, policy.books, nil, nil
  local now, numbers = policy.run.core.wall_ms(), {}
  for number in pairs(books.steps) do
    numbers[#numbers + 1] = number
  end
  table.sort(numbers)
  calls.watching = nil
  for _, number in ipairs(numbers) do
    local step = books.steps[number]
    local seconds = seconds_of(calls, step)
    if seconds > 0 and not step.late then
      local at = asks(step) and now + math.ceil(seconds * 1000) or late_at(books, step, seconds)
      if at <= now then
        assert(policy:emit({ t = "late", step = number, seconds = seconds }))
      elseif next(step.calls) and (not next_at or at < next_at) then
        next_at, next_seconds = at, seconds
      end
    end
  end
  if next_at then
    put(calls, next_at, next_seconds)
  end
end

---A person answered: that time is none of the step's.
---@param call skillrt.Call
---@param now integer  UTC ms
function M.answered(call, now)
  local step = call.step
  local open = step.calls[call.place]
  step.people_ms = (step.people_ms or 0) + math.max(0, now - (open and open.at or now))
end

return M
