-- run/record/event.lua: an event came, and waits in the queue of its name until somebody takes it.

local arrived = require("skillrt.run.books.arrived")

return {
  doc = "an event came; it stays in the queue of its name until a `result` took it",
  fields = [[
    name string
    value any
    arrival string? the id under which it came
    ended integer? that program of a session ended
  ]],

  apply = function(_, record, whole)
    arrived.came(whole, record)
  end,
}
