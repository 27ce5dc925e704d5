-- run/record/checkpoint.lua: a skill names the present place of its run (ctx.checkpoint).

return {
  doc = "the skill names the place where the run stands",
  fields = [[
    step integer
    c string? the place that it was said at
    name string
  ]],

  apply = function(_, record, whole)
    whole.steps[record.step]:said(record)
    whole.checkpoint = { name = record.name, step = record.step, at = record.at }
  end,

  line = function(lines, record, step)
    lines:say(step, "info", "Checkpoint: %s", record.name)
  end,

  point = function(record)
    return { what = "checkpoint", name = record.name }
  end,
}
