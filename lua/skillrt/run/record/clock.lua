-- run/record/clock.lua: somebody set the wall clock: run_timeout counts the time that really passed.

local consumption = require("skillrt.run.books.consumption")

return {
  doc = "somebody set the wall clock: `run_timeout` counts what passed, not what it says",
  fields = [[
    moved integer by so many ms
  ]],

  apply = function(_, record, whole)
    consumption.reopen(whole, record.at - record.moved, record.at)
  end,

  line = function(lines, record)
    lines:say(false, "warning", "The clock was set %s by %s", record.moved > 0 and "forward" or "back",
      lines.duration(math.abs(record.moved)))
  end,
}
