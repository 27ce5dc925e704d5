-- run/record/undoable.lua: a step can be undone, should the run be aborted.

local json = require("skillrt.base.json")

return {
  doc = "a step completed that can be undone; or one is given up, and is to be cleaned up",
  fields = [[
    step integer
    sub string?
    id string of the action or phase
    set table? what it changed
    cleanup boolean?
  ]],

  apply = function(books, record)
    books.undo = books.undo or json.array({})
    table.insert(books.undo, { step = record.step, id = record.id, set = record.set, cleanup = record.cleanup })
  end,
}
