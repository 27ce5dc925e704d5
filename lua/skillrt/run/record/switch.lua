-- run/record/switch.lua: a conversation switches to another tool set; or why it does not.

local phases = require("skillrt.run.books.phases")

local function words_of(record)
  return ("Phase: %s -> %s (%s)%s"):format(record.from, record.to, record.by, record.refused
    and ": refused: " .. record.refused or record.advised and ": suggested by the calls; the set stays" or "")
end

return {
  doc = "in a conversation: another [tool set](../write/tool-sets.md) is active; why not; or which the calls suggest",
  of_step = true,
  fields = [[
    step integer
    c string?
    from string
    to string
    by string
    summary table?
    keeps table? state fields that the runtime wrote with it
    refused string?
    advised boolean?
  ]],

  apply = function(books, record, whole)
    local step = whole.steps[record.step]
    step:said(record)
    phases.switch(books, step, record)
  end,

  line = function(lines, record, step)
    lines:say(step, record.refused and "warning" or "info", "%s", words_of(record))
  end,

  story = function(_, record, step)
    step.notes[#step.notes + 1] = { at = record.at, text = words_of(record) }
  end,

  log = function(record)
    return record.refused and "warn" or "info", "Phase", { from = record.from, to = record.to, by = record.by,
      refused = record.refused, advised = record.advised }
  end,
}
