-- run/record/pin.lua: a file that decides was loaded during the run: its digest.

local state_of = require("skillrt.skill.state")

return {
  doc = "a helper was loaded while the run went on: its digest",
  fields = [[
    sub string?
    pins table
  ]],

  apply = function(books, record)
    books.pins = state_of.merge(books.pins, record.pins)
  end,
}
