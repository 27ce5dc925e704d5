-- run/record/tool.lua: a model uses a tool, or asked for one that is refused.

return {
  doc = "a model uses a tool; the `result` of its place ends that, and what the tool awaited is forgotten",
  fields = [[
    step integer
    c string
    name string
    input string? what it was given, as it may be shown
    digest string?
    absent string? how a call to an absent tool was treated: unknown, refused, widened, all
    refused string? why it is not performed
  ]],

  apply = function(_, record, whole)
    local step = whole.steps[record.step]
    local order = step.order
    step:own("tools")[record.c] = { digest = record.digest, name = record.name, after = order[#order] }
  end,

  line = function(lines, record, step)
    local input = record.input and " " .. record.input or ""
    if record.refused then
      lines:say(step, "warning", "Tool: %s%s: not performed: %s", record.name, input, record.refused)
    else
      lines:say(step, "info", "Tool: %s%s", record.name, input)
    end
  end,
}
