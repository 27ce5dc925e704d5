-- run/record/compact.lua: a conversation with a model was shortened.

local function words_of(record)
  return ("%s: its conversation was shortened (%s): %d to %d bytes, %d turns kept"):format(record.agent, record.how,
    record.before, record.after, record.kept)
end

return {
  doc = "a conversation with a model was [made shorter](../write/tools.md#the-loop)",
  of_step = true,
  fields = [[
    step integer
    c string?
    agent string
    how string
    before integer bytes
    after integer
    kept integer turns that were left as they were
  ]],

  apply = function(_, record, whole)
    whole.steps[record.step]:said(record)
  end,

  line = function(lines, record, step)
    lines:say(step, "info", "%s", words_of(record))
  end,

  story = function(_, record, step)
    step.notes[#step.notes + 1] = { at = record.at, text = words_of(record) }
  end,

  log = function(record)
    return "info", "Conversation shortened", { agent = record.agent, how = record.how, before = record.before,
      after = record.after, kept = record.kept }
  end,
}
