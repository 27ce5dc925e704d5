-- run/record/fail.lua: an attempt of a step failed: another one follows, or the step has failed.

local failures = require("skillrt.run.books.failures")
local instant = require("skillrt.base.instant")
local phases = require("skillrt.run.books.phases")
local repeats = require("skillrt.mode.repeats")
local same_failures = require("skillrt.skill.limit.same_failures")
local consumption = require("skillrt.run.books.consumption")
local steps = require("skillrt.run.step.step")
local subs = require("skillrt.run.books.subs")

local function text_of(record)
  return tostring(record.message or record.class or "failed without saying why")
end

local function say_retry(lines, step, record)
  lines.retries = lines.retries + 1
  step.attempt = record.link and 1 or record.attempt + 1
  step.retry_at = record.at and record.at + record.retry
  local wait = record.retry > 0 and ("again in %s"):format(lines.duration(record.retry)) or "again now"
  if record.link then
    wait = ("now its agent %d"):format(record.link)
  end
  lines:block(step, "warning", text_of(record), "Retry: %s: attempt %d failed (%s), %s: ", step.id,
    record.attempt, record.class or "?", wait)
end

return {
  doc = "an attempt of a step failed; without `retry` the step has failed",
  of_step = true,
  fields = [[
    step integer
    attempt integer
    class string
    message string
    traceback string?
    blame string? the place of the call that is to blame
    retry integer? another attempt begins in so many ms, and keeps all results but that of `blame`
    link integer? ... by this agent of a chain
    over string? what on_error makes follow; script: the code failed, and the step stays open until it is fixed
    circuit boolean? it failed repeatedly in the same way
    again boolean? it may fail once more
    free boolean? it does not count for max_errors
    degraded boolean? its alternative takes over from an optional step
  ]],

  apply = function(books, record, whole)
    local step = whole.steps[record.step]
    same_failures.count(books, step.id, record)
    if record.retry then
      books.retries = (books.retries or 0) + 1
    end
    if record.retry or record.over == "script" then
      step:failed(record, whole.subs)
    else
      repeats.hold(books, step, record)
      steps.close(books, step, record)
      if step.tool_set then
        phases.over(books, step, record)
      end
      consumption.add(books, step.id, "max_errors", 1)
      failures.note(books, step, record, record.message, instant.iso(record.at))
      failures.follow(books, step, record, instant.iso(record.at))
    end
    subs.sweep(whole)
  end,

  line = function(lines, record, step)
    step = step or { id = "?", kind = "phase" }
    step.asking = nil
    if record.retry then
      return say_retry(lines, step, record)
    end
    lines.steps[record.step] = nil
    lines.failed = lines.failed + 1
    lines.last_error = text_of(record)
    if step.kind == "action" then
      lines:block(step, "error", lines.last_error, "Error: ")
    else
      lines:block(step, "error", text_of(record), "Failed at %s: ", step.id)
    end
    lines:traceback(record.traceback)
  end,

  story = function(story, record, step)
    table.insert(step.attempts, { at = record.at, class = record.class, message = record.message, retry = record.retry,
      traceback = record.traceback })
    if record.retry then
      story.retries = story.retries + 1
    else
      step.status, step.ended, step.class, step.message = "failed", record.at, record.class, record.message
    end
  end,

  log = function(record)
    return record.retry and "warn" or "error", record.retry and "Attempt failed" or "Step failed", {
      attempt = record.attempt, error = record.message, class = record.class, retry_ms = record.retry }
  end,

  point = function(record)
    return not record.retry and { what = "failed", text = record.message }
  end,
}
