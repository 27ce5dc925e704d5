-- run/record/event.lua: an event came, and waits in the queue of its name until a step receives it.

local arrivals = require("skillrt.run.books.arrivals")

return {
  doc = "an event came; it stays in the queue of its name until a `result` took it",
  fields = [[
    name string
    value any
    arrival string? the id under which it came
    ended integer? that program of a session ended
  ]],

  apply = function(_, record, whole)
    arrivals.came(whole, record)
  end,
}
