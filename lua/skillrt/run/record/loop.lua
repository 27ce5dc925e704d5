-- run/record/loop.lua: the loop of a hybrid run finished.

return {
  doc = "the loop of a hybrid run finished",
  fields = [[
    sub string?
    status string
    reason string
    message string?
  ]],

  apply = function(books, record)
    books.loop_end = { status = record.status, reason = record.reason, message = record.message }
  end,
}
