-- run/record/books.lua: a snapshot of the books, written from time to time, so that reading starts at the newest one.
--
-- Written and read by run/snapshot.lua; it adds nothing for a reader of all earlier records.

return {
  doc = "all that the books say, open steps too, now and then: reading begins at the newest",
  fields = [[
    books table their fields
    subs table? of sub-runs
    steps list? that are under way
    questions list?
    state table
    progress integer
  ]],

  apply = function() end,
}
