-- run/record/drop.lua: changes were accepted, and recorded results are discarded.

local subs = require("skillrt.run.books.subs")

return {
  doc = "changes were accepted: results are forgotten",
  beyond = "changes of its code were accepted",
  fields = [[
    step integer
    from list the places from which on
    loose boolean? a changed script is asked anew, and keeps the answer to what it asks for as before
  ]],

  apply = function(_, record, whole)
    local step = whole.steps[record.step]
    if record.loose then
      step:become("loose")
    end
    step:drop(record.from, nil, nil, not record.loose)
    subs.sweep(whole)
  end,
}
