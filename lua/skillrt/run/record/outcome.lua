-- run/record/outcome.lua: a run that another one waits for has ended: its outcome is sent to the other one before its
-- last record.

return {
  doc = "how a child has ended, which is sent to its parent next",
  fields = [[
    status string completed, failed, aborted
    reason string
    message string?
    result table? what ctx.run gives
  ]],

  apply = function(books, record)
    books.outcome = { status = record.status, reason = record.reason, message = record.message, result = record.result }
  end,

  line = function(lines, record)
    if lines.detail then
      lines:say(false, "detail", "Outcome, for the run that waits for it: %s", record.status)
    end
  end,
}
