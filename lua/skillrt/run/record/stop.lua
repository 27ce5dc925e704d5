-- run/record/stop.lua: a run or a sub-run stopped: it has ended, or is paused.

local instant = require("skillrt.base.instant")

-- The word for a status in the last line of a run.
local ENDS <const> = { completed = true, failed = true, aborted = true }

return {
  doc = "the run stopped",
  fields = [[
    sub string?
    status string completed, failed, aborted, paused
    reason string
    message string?
    limit string? the limit that it stopped at
    due integer? when it is to be resumed by itself
    idle integer? ms of it that do not count as open
    kept table? digests of what its session was given
  ]],

  apply = function(books, record)
    books.status, books.reason, books.message, books.limit = record.status, record.reason, record.message, record.limit
    books.due = record.due
    if record.idle then
      books.active = (books.active or 0) - record.idle
    end
    for _, row in ipairs(record.kept and books.contexts or {}) do
      if record.kept[row.name] ~= nil then
        row.digest = record.kept[row.name] or nil -- the session holds it now
      end
    end
    books.outcome = not ENDS[record.status] and books.outcome or nil -- otherwise it was told
    if record.sub then
      books.active = (books.active or 0) + math.max(0, record.at - (books.opened_at or record.at))
    end
    books.programs = nil -- they ended with it
    if books.answer == false then -- the person gave up, and may be asked again later
      books.answer = nil
    end
    books.state:set("status", record.status)
    if ENDS[record.status] then
      books.state:set(record.status == "completed" and "completed_at" or "failed_at", instant.iso(record.at))
    end
  end,

  line = function(lines, record, _, books)
    local status, reason = record.status, record.reason
    if record.sub then
      lines:say(false, status == "completed" and "good" or "warning", "%s[Sub-run %s] %s (%s)",
        lines:indent(record.sub), record.sub, status, tostring(reason))
      return
    end
    local pins = books and books.pins
    lines.status = status
    if status == "completed" and reason ~= "nothing_ran" then
      lines:banner(pins, "good", "=== All actions completed ===")
    elseif reason == "blocked" or reason == "no_action_selected" then
      lines:say(false, "warning", "No action selected, terminating.")
    end
    local asks = reason == "needs_decision" or reason == "waiting_for_person"
    local said = lines.last_error and record.message and record.message:sub(-#lines.last_error) == lines.last_error
    if record.message and not asks and not said then
      local kind = status == "completed" and "info" or status == "paused" and "warning" or "error"
      lines:block(false, kind, tostring(record.message), "  ")
    end
    if ENDS[status] then
      lines:banner(pins, "info", "=== Orchestrator Finished ===")
    else
      lines:banner(pins, "info", "=== Orchestrator Paused (%s) ===", tostring(reason))
    end
    if lines.detail then -- for a run, closing.lua prints it
      lines:say(false, "info", "Run %s (%s)", status, tostring(reason))
    end
  end,

  story = function(story, record)
    if record.sub then
      return
    end
    local session = story.sessions[#story.sessions] or {}
    session.to, session.status, session.reason, session.message = record.at, record.status, record.reason,
      record.message
    story.status, story.reason, story.message, story.limit = record.status, record.reason, record.message, record.limit
  end,

  log = function(record)
    if not record.sub then
      local level = record.status == "completed" and "info" or record.status == "paused" and "warn" or "error"
      local asks = record.reason == "waiting_for_person" or record.reason == "needs_decision"
      local field = asks and "question" or "error"
      return level, "Run stopped", { status = record.status, reason = record.reason, [field] = record.message }
    end
  end,

  point = function(record)
    return { what = "stopped", text = ("%s (%s)"):format(record.status, record.reason) }
  end,
}
