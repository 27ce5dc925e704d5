-- run/record/books.lua: all that the books say, now and then, so that reading begins at the newest.
--
-- Written and read by run/snapshot.lua; whoever has read all records before it knows what it says.

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
