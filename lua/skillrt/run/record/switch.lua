-- run/record/switch.lua: a conversation switches to another tool set; or why it does not.

local phases = require("skillrt.run.books.phases")

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
    local text = "Phase: %s -> %s (%s)"
    if record.refused then
      lines:say(step, "warning", text .. ": refused: %s", record.from, record.to, record.by, record.refused)
    else
      lines:say(step, "info", text .. "%s", record.from, record.to, record.by,
        record.advised and ": suggested by the calls; the set stays" or "")
    end
  end,

  story = function(_, record, step)
    local what = record.refused and (": refused: " .. record.refused) or record.advised and ": advised" or ""
    step.notes[#step.notes + 1] = { at = record.at, text = ("phase: %s -> %s (%s)%s"):format(record.from, record.to,
      record.by, what) }
  end,

  log = function(record)
    return record.refused and "warn" or "info", "Phase", { from = record.from, to = record.to, by = record.by,
      refused = record.refused, advised = record.advised }
  end,
}
