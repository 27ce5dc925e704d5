-- run/record/stage.lua: a step of the execution protocol reaches a stage (docs/write/protocol.md).

return {
  doc = "a step by [the protocol](../write/protocol.md) is preparing, executing or validating",
  fields = [[
    step integer
    c string?
    stage string
  ]],

  apply = function(_, record, whole)
    local step = whole.steps[record.step]
    if step then
      step:said(record)
    end
  end,

  story = function(_, record, step)
    step.stages = step.stages or {}
    table.insert(step.stages, { at = record.at, name = record.stage })
  end,

  line = function(lines, record, step)
    if lines.detail and step then
      lines:say(false, "detail", "%s: %s", step.id, tostring(record.stage))
    end
  end,
}
