-- run/record/fire.lua: a schedule starts runs, and records when it does so again.

local instant = require("skillrt.base.instant")

return {
  doc = "a schedule begins runs, or has begun them",
  fields = [[
    begins list the times for which it begins one, UTC ms; empty: those named before have begun
    missed list? the times for which it begins none
    due integer? the next one; none: the schedule is paused
  ]],

  apply = function(books, record)
    local schedule = books.schedule
    schedule.begun = schedule.begun + (record.begins[1] and 0 or #schedule.firing)
    schedule.missed = schedule.missed + #(record.missed or {})
    schedule.firing, schedule.due = record.begins, record.due
  end,

  line = function(lines, record)
    for _, at in ipairs(record.begins) do
      lines:say(false, "info", "Starts the run of %s", instant.iso(at))
    end
    local missed = record.missed
    if missed then
      lines:say(false, "warning", "Missed %d firings, from %s to %s", #missed, instant.iso(missed[1]),
        instant.iso(missed[#missed]))
    end
  end,

  log = function(record)
    if record.begins[1] or record.missed then
      return record.missed and "warn" or "info", "Schedule fires", { begins = record.begins, missed = record.missed }
    end
  end,
}
