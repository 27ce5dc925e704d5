-- run/record/note.lua: a log line of a step's function or of the runtime: ctx.log, ctx.phase.

return {
  doc = "a line of `ctx.log`, or of the runtime; a heading of `ctx.phase`",
  of_step = true,
  fields = [[
    step integer?
    sub string?
    c string? the place that it was said at
    text string?
    title string? of a heading
    told string? how it is shown to people
    failed boolean? whoever asked at that place had no result
  ]],

  apply = function(_, record, whole)
    local step = whole.steps[record.step]
    if step then
      step:said(record)
    end
  end,

  line = function(lines, record, step)
    local head = not step and "" or record.title and "%s == " or "%s: " -- without a step it is the runtime's line
    lines:block(step, "info", tostring(record.title or record.text), head, step and step.id)
  end,

  story = function(_, record, step)
    step.title = record.title or step.title
    step.notes[#step.notes + 1] = { at = record.at, text = record.text, title = record.title }
  end,

  log = function(record)
    return "info", record.title or record.text, {}
  end,
}
