-- run/steps/failed.lua: steps that did not end well: what a failure means, when the next attempt begins, and what is
-- taken up again that was under way when the run stopped.
--
-- Part of steps.lua, whose methods these are. How often is tried again knows attempts.lua.

local attempts = require("skillrt.run.steps.attempts")
local kept = require("skillrt.run.kept")
local output_files = require("skillrt.run.output_files")
local record = require("skillrt.base.record")
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
  local failure = { message = message, class = class, blame = type(call) == "string" and call or nil }
  if not is_meant then
    failure.traceback = debug.traceback(step.thread, failure.message)
  end
  coroutine.close(step.thread) -- its to-be-closed variables are closed now
  return failure
end

---An attempt of a step failed.
---@param step skillrt.Step
---@param definition skillrt.Action
---@param failure table  { class, message, traceback, blame, retry_after_ms }
function M:fail(step, definition, failure)
  if failure.class == "skipped" then
    assert(self.journal:emit({ t = "skip", step = step.number, why = printable(failure.message) }))
    return self:ended(definition)
  end
  local execution = step.execution
  local blame = failure.blame or (execution and execution.main.last)
  if execution and blame == execution.main.last then
    failure.retry_after_ms = failure.retry_after_ms or execution.main.retry_after_ms
  end
  local delay, why = attempts.next(self.run, step, definition, failure, blame)
  local message = why and ("%s (%s)"):format(failure.message, why) or failure.message
  local top = self.top
  top.trouble = top.trouble or output_files.put_aside(self.run, definition)
  local entry = kept.with_fresh(self.journal, step, {
    t = "fail",
    step = step.number,
    attempt = step.attempt,
    class = failure.class,
    message = printable(message),
    traceback = failure.traceback and printable(failure.traceback),
    retry = delay and math.ceil(delay) or nil,
    blame = delay and blame or nil,
  })
  assert(self.journal:emit(delay and entry or attempts.follow(self.run, definition, entry)))
  if delay then
    self.calls:ring(steady.at(self.run, step.retry_at), step)
  else
    self:ended(definition)
  end
end

---Takes up the steps that were under way when the run stopped.
function M:take_up()
  local numbers = {}
  for number, step in pairs(self.books.steps) do
    if step.sub == self.books.sub then
      numbers[#numbers + 1], step.home = number, self.sub and self or nil
    end
  end
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    local step = self.books.steps[number]
    if not self:definition_of(step) then
      assert(self.journal:emit({ t = "skip", step = number, why = "its definition is no longer part of the skill" }))
    elseif self.books.abort and not step.undoes then
      assert(self.journal:emit({ t = "skip", step = number, why = "the run is being aborted" }))
    elseif step.retry_at then -- never longer than it was to be, though the clock was put back
      self.calls:ring(steady.at(self.run, step.retry_at, step.failures[#step.failures].retry), step)
    elseif next(step.known) or next(step.calls) or next(step.rounds) then
      if self.run.accept_changes and not step.loose then
        require("skillrt.run.steps.diverged").loosen(self, step)
      end
      repeat -- gives back what is recorded; what may leave leaves with the first batch
        step.replays = nil
        self:perform(step)
      until not step.replays
    else
      self:go(step)
    end
  end
end

return M
