-- run/record/rounds.lua: another round of repeating phases starts, or there is none.

local instant = require("skillrt.base.instant")

return {
  doc = "a further round of repeating phases begins, or there is none",
  fields = [[
    sub string?
    key string which phases: from .. to
    n integer
    over boolean? there is none
    phases list? that run again
    inner list? rounds within, which begin anew
    left_out list? phases that are left out
    why string?
  ]],

  apply = function(books, record)
    books.rounds = books.rounds or {}
    books.rounds[record.key] = { n = record.n, over = record.over }
    for _, key in ipairs(record.inner or {}) do
      books.rounds[key] = nil
    end
    for _, id in ipairs(record.phases or {}) do
      if not books.given_up[id] and not books.failed[id] then
        books.completed[id], books.skipped[id] = nil, nil
      end
    end
    for _, id in ipairs(record.left_out or {}) do
      books.skipped[id] = record.why
      books.state:append("phases_skipped", { id = id, reason = record.why, skipped_at = instant.iso(record.at) })
    end
  end,

  line = function(lines, record)
    if record.over then
      lines:say(false, "info", "[Rounds] %s: finished after %d (%s)", record.key, record.n, record.why)
    else
      lines:say(false, "info", "[Rounds] %s: round %d", record.key, record.n)
    end
  end,
}
