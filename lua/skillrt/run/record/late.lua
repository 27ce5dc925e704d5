-- run/record/late.lua: a step takes longer than its skill's soft deadline; it continues.

return {
  doc = "a step takes longer than the skill's `timeouts.step`; it continues",
  fields = [[
    step integer
    seconds number
  ]],

  apply = function(_, record, whole)
    whole.steps[record.step]:pass_deadline()
  end,

  line = function(lines, record, step)
    lines:say(false, "warning", "Warning: %s takes longer than %g seconds; it continues", step and step.id or "?",
      record.seconds)
  end,
}
