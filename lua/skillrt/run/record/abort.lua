-- run/record/abort.lua: a run is being aborted: steps whose start names another step undo that step.

local failures = require("skillrt.run.books.failures")

return {
  doc = "the run is being aborted: what can be undone is undone, by steps whose start names the step (`undo`)",
  beyond = "it was aborted by a person",
  fields = [[
    sub string?
    reason string?
    message string?
    gone integer? a step whose action is no longer part of the skill is not undone
  ]],

  apply = function(books, record)
    if record.gone then
      failures.not_undone(books, record.gone)
    else
      books.abort = books.abort or { reason = record.reason, message = record.message }
    end
  end,

  line = function(lines, record)
    if record.gone then
      lines:say(false, "warning", "Step %d is not undone: its action is no longer part of the skill", record.gone)
    else
      lines:say(false, "warning", "Aborting (%s): undoing its steps, the newest first", tostring(record.reason))
    end
  end,
}
