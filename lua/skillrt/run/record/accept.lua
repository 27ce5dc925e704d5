-- run/record/accept.lua: changed files were accepted.

return {
  doc = "changed files were accepted",
  fields = [[
    sub string?
    pins table the digests that hold from now on
    changed list?
    choices table? what may be chosen from now on
  ]],

  apply = function(books, record)
    books.pins = record.pins
  end,

  line = function(lines, record)
    lines:say(false, "warning", "Resuming with changed files: %s", lines.joined(record.changed or {}, 20))
  end,
}
