-- run/steps/failed.lua: steps that did not end well: what a failure means, when the next attempt begins, and what is
-- taken up again that was under way when the run stopped.
--
-- Part of steps.lua, whose methods these are. How often is tried again knows attempts.lua.

local attempts = require("skillrt.run.steps.attempts")
local draws = require("skillrt.run.branch.draws")
local output_files = require("skillrt.run.output_files")
local record = require("skillrt.base.record")
local repeats = require("skillrt.mode.repeats")
local retry = require("skillrt.skill.retry")
local steady = require("skillrt.run.steady")
local returned = require("skillrt.agent.returned")

local printable = record.printable

local M = {}

---What a function raised, as a failure.
---@param step skillrt.Step
---@param problem any
---@return table failure
function M.raised(step, problem)
  local _, message, class, call, is_meant = returned.raised(step.id, problem)
  local failure = { message = message, class = class, blame = type(call) == "string" and call or nil,
    raised = not is_meant or nil }
  if not is_meant then
    failure.traceback = debug.traceback(step.thread, failure.message)
  end
  coroutine.close(step.thread) -- its to-be-closed variables are closed now
  return failure
end

-- The place of the call that a failure blames: the one it names; the one whose failure it passes on; of an agent, and
-- where another attempt may help, the last one. An error that was raised and blames none is a slip of the code.
local function put_down(execution, definition, failure)
  local main = failure.seen or execution and execution.main
  local of_call = main and main.failed
  local passed_on = of_call and (of_call.message == failure.message
    or failure.raised and of_call.message ~= "" and failure.message:find(of_call.message, 1, true) ~= nil)
  local is_slip = failure.raised and not failure.blame and not (passed_on and not of_call.is_slip)
    or passed_on and of_call.is_slip
  local blame = failure.blame or passed_on and of_call.blame
  if not blame and main and not is_slip and (definition.agent or retry.CLASSES[failure.class]
    or of_call and of_call.blame == main.last) then
    blame = main.last
  end
  if passed_on and failure.raised and not is_slip then
    failure.class = of_call.class
  end
  return blame, is_slip or nil
end

---An attempt of a step failed.
---@param step skillrt.Step
---@param definition skillrt.Action
---@param failure table  { class, message, traceback, blame, retry_after_ms }
function M:fail(step, definition, failure)
  local execution = step.execution
  local blame
  blame, failure.is_slip = put_down(execution, definition, failure)
  if failure.class == "skipped" then
    assert(self.journal:emit({ t = "skip", step = step.number, why = printable(failure.message) }))
    return self:ended(definition)
  end
  if execution and blame == execution.main.last then
    failure.retry_after_ms = failure.retry_after_ms or execution.main.retry_after_ms
  end
  local delay, why = attempts.next(self.run, step, definition, failure, blame)
  local message = why and ("%s (%s)"):format(failure.message, why) or failure.message
  local top = self.top
  top.trouble = top.trouble or output_files.put_aside(self.run, definition)
  local entry = draws.with_fresh(self.journal, step, {
    t = "fail",
    step = step.number,
    attempt = step.attempt,
    class = failure.class,
    message = printable(message),
    traceback = failure.traceback and printable(failure.traceback),
    retry = delay and math.ceil(delay) or nil,
    blame = blame,
  })
  if not delay then
    attempts.follow(self.run, definition, entry, step, failure.is_slip)
  end
  assert(self.journal:emit(entry))
  if delay then
    self.calls:ring(steady.at(self.run, step.retry_at), step)
  elseif entry.over == "script" then
    top.halt = { "paused", "script_error", entry.message }
  else
    self:ended(definition)
  end
end

---Performs a step with what is recorded of it; what may leave leaves with the first batch.
---@param step skillrt.Step
function M:perform_again(step)
  local from = repeats.without_result(step)
  if from[1] then -- what is made of their answers is another call than before
    assert(self.journal:emit({ t = "drop", step = step.number, from = from, loose = true }))
  end
  if (self.run.accept_changes or self.run.fixed) and not step.loose then
    require("skillrt.run.steps.diverged").loosen(self, step)
  end
  repeat
    step.replays = nil
    self:perform(step)
  until not step.replays
end

---Takes up the steps that were under way when the run stopped.
function M:take_up()
  local numbers = {}
  for number, step in pairs(self.books.steps) do
    if step.sub == self.books.sub then
      numbers[#numbers + 1], step.home = number, self
    end
  end
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    local step = self.books.steps[number]
    if not self:definition_of(step) then
      assert(self.journal:emit({ t = "skip", step = number, why = "its definition is no longer part of the skill" }))
    elseif self.books.abort and not step.undoes then
      local entry = { t = "undoable", sub = self.books.sub, step = number, id = step.id, cleanup = true }
      assert(self.journal:emit({ t = "skip", step = number, why = "the run is being aborted" }))
      assert(not self:definition_of(step).cleanup or self.journal:emit(entry)) -- a step of its own does it
    elseif step.retry_at then -- never longer than it was to be, though the clock was put back
      self.calls:ring(steady.at(self.run, step.retry_at, step.failures[#step.failures].retry), step)
    elseif next(step.known) or next(step.calls) or next(step.rounds) then
      self:perform_again(step)
    else
      self:go(step)
    end
  end
end

return M
