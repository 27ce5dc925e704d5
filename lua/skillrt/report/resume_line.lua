-- report/resume_line.lua: what a run that is resumed goes on with, in one line: its open steps, and what becomes
-- of the call that each waits for.
--
-- The rules are those of run/call/transport.lua and run/step/steps.lua, from the books alone. Called by lines.lua.

local instant = require("skillrt.base.instant")
local names = require("skillrt.base.names")
local text_of = require("skillrt.base.terminal_text")

local M = {}

local STEPS <const> = 10
local CALLS <const> = 3

---@param steps table<integer, table>
---@return integer[] numbers  oldest first
function M.numbers(steps)
  local numbers = {}
  for number in pairs(steps) do
    numbers[#numbers + 1] = number
  end
  table.sort(numbers)
  return numbers
end

-- What becomes of a call that was not over.
local function fate(call)
  local target = call.to and ("%s %s"):format(call.kind, call.to) or tostring(call.kind)
  if call.q then
    return ("question %d is open"):format(call.q)
  elseif call.event then
    return ("waits for the event %s"):format(call.event)
  elseif call.kind == "run" then
    return ("its sub-run %s goes on"):format(call.to or "")
  elseif call.decision and call.decision ~= "retry" then
    return ("%s is not made again: %s"):format(target, tostring(call.decision))
  elseif call.decision or call.failed or call.idem then
    return target .. " is asked again"
  elseif call.due then
    return "sleeps until " .. instant.iso(call.due)
  end
  return target .. " may have been executed: to be decided"
end

local function words_of(step)
  local words, places = {}, {}
  for place in pairs(step.calls or {}) do
    places[#places + 1] = place
  end
  table.sort(places)
  for i, place in ipairs(places) do
    words[i] = fate(step.calls[place])
  end
  if words[1] then
    return names.listed(words, CALLS)
  elseif step.retry_at then
    return ("attempt %d at %s"):format(step.attempt, instant.iso(step.retry_at))
  end
  return next(step.known or {}) and "from its last recorded reply" or "from its beginning"
end

---@param books skillrt.Ledger
---@return string|nil line  escaped; nil: no step was under way
function M.line(books)
  local list = {}
  for i, number in ipairs(M.numbers(books.steps)) do
    local step = books.steps[number]
    list[i] = i <= STEPS and ("%s (%s)"):format(text_of.escape(step.id), text_of.escape(words_of(step))) or ""
  end
  return list[1] and "Going on: " .. names.listed(list, STEPS) or nil
end

return M
