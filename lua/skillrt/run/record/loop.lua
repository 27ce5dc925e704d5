-- run/record/loop.lua: the loop of a hybrid run is over.

return {
  doc = "the loop of a hybrid run is over",
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
