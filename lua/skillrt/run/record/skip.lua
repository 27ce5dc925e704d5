-- run/record/skip.lua: a phase was skipped, or a step given up.

local failures = require("skillrt.run.books.failures")
local instant = require("skillrt.base.instant")
local repeats = require("skillrt.mode.repeats")
local steps = require("skillrt.run.step.step")
local subs = require("skillrt.run.books.subs")

return {
  doc = "a phase was left out, or a step given up",
  fields = [[
    phase string? its id
    step integer? the step's number
    sub string?
    why string?
  ]],

  apply = function(books, record, whole)
    local step = whole.steps[record.step]
    local id = step and step.id or record.phase
    books.skipped[id] = record.why
    failures.took_over(books, id)
    if step then
      repeats.hold(books, step, record)
      steps.close(books, step, record)
      books.runs[id] = (books.runs[id] or 0) + 1 -- it is given up, not chosen again
      subs.sweep(whole)
    end
    if not step or step.kind == "phase" then
      books.state:append("phases_skipped", { id = id, reason = record.why, skipped_at = instant.iso(record.at) })
    end
  end,

  line = function(lines, record, step)
    if step then
      lines.steps[record.step] = nil
    end
    local why = record.why or "condition not met"
    local short, more = why:match("^(condition not met)(: .*)$")
    lines:say(step, "info", "Skipping %s (%s)%s", record.phase or step and step.id or "?", short or why, more or "")
  end,

  story = function(story, record, step)
    if step then
      step.status, step.ended, step.why = "skipped", record.at, record.why
      return
    end
    story.steps[#story.steps + 1] = { id = record.phase, kind = "phase", at = record.at, ended = record.at, n = 0,
      status = "skipped", why = record.why, attempts = {}, calls = {}, notes = {}, by_place = {} }
  end,

  log = function(record)
    return "info", "Step skipped", { action = record.phase, reason = record.why }
  end,
}
