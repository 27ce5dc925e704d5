-- run/record/contexts.lua: the contexts of a run are loaded, before its first step (R165).

return {
  doc = "what the run was given to know, loaded when it began",
  fields = [[
    sub string?
    list list a row for each: name, digest, degraded, skipped
    values table by name: merged into the context
    failed string? one that it needs is not there
  ]],

  apply = function(books, record)
    books.contexts = record.list
    for name, value in pairs(record.values) do
      books.state:replace("context", name, value)
    end
    if record.failed then
      books.halt = { "failed", "preparing", record.failed }
    end
  end,

  story = function(story, record)
    story.loaded = not record.sub and { at = record.at, failed = record.failed } or story.loaded
  end,

  line = function(lines, record)
    for _, row in ipairs(record.list) do
      local text = row.degraded and "degraded, by its alternative: " .. row.degraded
        or row.skipped and "left out: " .. row.skipped
      if text then
        lines:say(false, row.degraded and "warning" or "detail", "Context %s: %s", row.name, text)
      end
    end
  end,
}
