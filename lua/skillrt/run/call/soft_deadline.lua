-- run/call/soft_deadline.lua: steps that take longer than their skill's soft deadline: reported once in the journal,
-- and the step continues (R178, F67).
--
-- Only one time is watched, however many steps are open, and only while a step waits for a call: waiting for people,
-- and the time that a run was closed, do not count. If every open step asks somebody, nothing is watched until an
-- answer comes. Knows books. Called by transport.lua, kind/ask.lua, questions.lua, pause.lua, turn.lua.

local core = require("skillrt.core")
local steady = require("skillrt.run.steady")

local M = {}

-- Whether a step asks somebody something.
local function asks(step)
  for _, call in pairs(step.calls) do
    if call.q or call.asked then
      return true
    end
  end
  return false
end

-- When a step becomes late, by the wall clock.
local function late_at(books, step, seconds)
  return math.max(step.started_at, books.opened_at or 0) + (step.people_ms or 0) + math.ceil(seconds * 1000)
end

-- Seconds; 0: it has none, nor has a step of a sub-run that a changed script no longer asks for.
local function deadline_of(step)
  local home = step.live.home
  return home and home.run.skill.timeouts.step or 0
end

local function put(calls, utc, seconds)
  calls.watching = { watches = true }
  calls:ring(steady.at(calls.run, utc, math.ceil(seconds * 1000)), calls.watching)
end

---A call of a step is sent, or somebody has answered the step's question.
---@param calls skillrt.Calls
---@param step skillrt.Step
function M.watch(calls, step)
  local seconds = deadline_of(step)
  if not calls.watching and seconds > 0 and not step.late then
    put(calls, late_at(calls.run.books, step, seconds), seconds)
  end
end

-- Whether a step can become late in its present state.
local function may_be_late(step)
  return not step.late and next(step.calls) ~= nil and deadline_of(step) > 0 and not asks(step)
end

---Nothing is under way: waiting for a person is not watched.
---@param calls skillrt.Calls
function M.rest(calls)
  if not calls.watching then
    return
  end
  for _, step in pairs(calls.run.books.steps) do
    if may_be_late(step) then
      return
    end
  end
  calls.due:drop(calls.watching)
  calls.watching = nil
end

---The watched time has come.
---@param turn skillrt.Turn
function M.rang(turn)
  local calls, books, next_at, next_seconds = turn.calls, turn.books, nil, nil
  local now, numbers = core.wall_ms(), {}
  for number in pairs(books.steps) do
    numbers[#numbers + 1] = number
  end
  table.sort(numbers)
  calls.watching = nil
  for _, number in ipairs(numbers) do
    local step = books.steps[number]
    if may_be_late(step) then
      local seconds = deadline_of(step)
      local at = late_at(books, step, seconds)
      if at <= now then
        assert(turn:emit({ t = "late", step = number, seconds = seconds }))
      elseif not next_at or at < next_at then
        next_at, next_seconds = at, seconds
      end
    end
  end
  if next_at then
    put(calls, next_at, next_seconds)
  end
end

---A question of a step is closed, answered or not: that time does not count for the step.
---@param calls skillrt.Calls
---@param step skillrt.Step
---@param since integer|nil  UTC ms: when it was asked
function M.answered(calls, step, since)
  local now = core.wall_ms()
  since = math.max(since or now, calls.run.books.opened_at or 0)
  step:wait_for_people(math.max(0, now - since))
  M.watch(calls, step)
end

return M
