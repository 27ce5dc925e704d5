-- run/record/attempt.lua: an attempt of a call failed, and another one follows.

return {
  doc = "an attempt of a call failed, and the next one comes",
  of_step = true,
  fields = [[
    step integer
    c string the call's place
    a integer the attempt
    class string?
    message string?
    retry integer in so many ms
  ]],

  apply = function(_, record, whole)
    whole.steps[record.step]:note(record.c, "failed", record)
    whole.retries = (whole.retries or 0) + 1
  end,

  line = function(lines, record, step)
    lines.retries = lines.retries + 1
    lines:block(step, "warning", tostring(record.message), "Retry: %s: call %s failed (%s), again in %s: ",
      step and step.id or "?", record.c, record.class or "?", lines.duration(record.retry))
  end,

  story = function(story, record, step)
    local call = step.by_place[record.c]
    story.retries = story.retries + 1
    if call then
      table.insert(call.attempts, { at = record.at, class = record.class, message = record.message,
        retry = record.retry })
    end
  end,

  log = function(record)
    return "warn", "Call failed", { call = record.c, attempt = record.a, error = record.message, class = record.class,
      retry_ms = record.retry }
  end,
}
