-- run/record/doubt.lua: the outcome of a call is unknown: a person or on_indoubt decides.

return {
  doc = "the outcome of a call is unknown: it may have been executed",
  of_step = true,
  fields = [[
    step integer
    c string the call's place
    message string
  ]],

  apply = function(_, record, whole)
    whole.steps[record.step]:note(record.c, "doubt", record)
  end,

  line = function(lines, record, step)
    lines:block(step, "warning", tostring(record.message), "Outcome unknown: %s: call %s may have been executed: ",
      step and step.id or "?", record.c)
  end,

  story = function(_, record, step)
    local call = step.by_place[record.c]
    if call then
      call.doubt = record.message
    end
  end,

  log = function(record)
    return "warn", "Call outcome unknown", { call = record.c, error = record.message }
  end,
}
