-- run/record/done.lua: a step has completed, fully or partly: what it changes in the state, and its result.

local failures = require("skillrt.run.books.failures")
local instant = require("skillrt.base.instant")
local phases = require("skillrt.run.books.phases")
local repeats = require("skillrt.mode.repeats")
local consumption = require("skillrt.run.books.consumption")
local steps = require("skillrt.run.step.step")
local subs = require("skillrt.run.books.subs")

-- A step that completed for the first time.
local function complete(books, step, record)
  books.completed[step.id] = true
  if step.kind == "phase" then
    books.state:append("phases_completed", {
      id = step.id,
      completed_at = instant.iso(record.at),
      output = record.file,
    })
  else
    books.state:append("completed_actions", step.id)
  end
end

-- The state violates an invariant of the skill.
local function note_damage(books, whole, step, record)
  whole.damaged = { id = step.id, broken = record.damaged }
  consumption.add(books, step.id, "max_errors", 1)
  failures.note(books, step, { class = "state_damaged" }, table.concat(record.damaged, "; "), instant.iso(record.at))
end

local function note_part(books, step, record)
  if step.kind == "phase" then
    local text = "only partly done" .. (record.summary and ": " .. record.summary or "")
    failures.note(books, step, record, text, instant.iso(record.at))
  end
end

-- What follows a step that counts as completed.
local function count(books, step, record)
  local id = step.id
  if record.out ~= nil then
    books.state:replace("outputs", id, record.out, record.is_large)
  end
  if record.file then
    books.outputs[record.file] = id
  end
  if not books.completed[id] then
    complete(books, step, record)
  end
  books.failed[id], books.skipped[id] = nil, nil
  if books.signatures then
    books.signatures[id] = nil
  end
  if books.last_failed and books.last_failed.id == id then
    books.last_failed = nil
  end
end

-- Further lines: a field of the record, the kind of the line, its words.
local BEHIND <const> = {
  { "refused", "warning", "Warning: %s: only the runtime writes %s; the update was ignored" },
  { "replaced", "warning", "Warning: %s: overwrote a parallel step's change of %s; the schema can say how to merge" },
  { "missed", "warning", "Warning: %s: its declared effect is not true: %s" },
  { "damaged", "error", "Damaged: after %s the state violates an invariant: %s" },
}

return {
  doc = "a step finished",
  of_step = true,
  fields = [[
    step integer
    set table? what changes in the state, as a merge patch
    out any of a phase: its output
    file string? the output file
    context table? keys of the context
    summary string?
    partial boolean? only partly done: it does not count as completed
    why string? the concerns that it was done with
    ms integer how long it took
    keep boolean? its results are kept, as a resume of the run may perform it again; what it sets replaces whole fields
    checkpoint string? the skill names the place behind it
    refused list? fields that only the runtime writes, left out
    replaced list? fields where it replaced what a step beside it wrote
    missed list? declared effects that did not come true
    damaged list? invariants that no longer hold
  ]],

  apply = function(books, record, whole)
    local step, state, set = whole.steps[record.step], books.state, record.set
    local id = step.id
    steps.close(books, step, record)
    if set and record.keep then
      state:put(set)
    elseif set then
      state:patch(set, record.is_large)
    end
    books.runs[id] = (books.runs[id] or 0) + 1
    if books.held then
      repeats.release(books, id, record)
    end
    if record.keep then
      repeats.hold(books, step, record)
    end
    books.returned[id] = not record.is_large and set or steps.EMPTY -- large values are released early
    if step.tool_set then
      phases.over(books, step, record)
    end
    for key, value in pairs(record.context or steps.EMPTY) do
      state:replace("context", key, value)
    end
    if record.checkpoint then
      whole.checkpoint = { name = record.checkpoint, step = record.step, at = record.at }
    elseif record.damaged then
      note_damage(books, whole, step, record)
    end
    if whole.subs and not record.keep then
      subs.forget_failed(whole, step)
    end
    if record.partial then
      note_part(books, step, record)
    else
      count(books, step, record)
    end
  end,

  line = function(lines, record, step)
    step = step or { id = "?", kind = "phase" }
    lines.steps[record.step] = nil
    lines.done = lines.done + 1
    if not record.partial and not lines.over[step.id] and (step.depth or 0) == 0 then
      lines.over[step.id] = true
      lines.completed = lines.completed + 1
    end
    lines:say(step, "good", "%s: %s%s", record.partial and "Partly done" or "Completed",
      tostring(record.summary or step.id), record.file and " -> " .. record.file or "")
    if record.why then
      lines:block(step, "warning", tostring(record.why), "Concerns: ")
    end
    for _, row in ipairs(BEHIND) do
      local list = record[row[1]]
      if list then
        lines:say(step, row[2], row[3], step.id, lines.joined(list, 10))
      end
    end
    if record.checkpoint then
      lines:say(step, "info", "Checkpoint: %s", record.checkpoint)
    end
  end,

  story = function(_, record, step)
    step.status, step.ended = record.partial and "partial" or "completed", record.at
    step.set, step.file, step.summary, step.why = record.set, record.file, record.summary, record.why
    step.out, step.context = record.out, record.context
  end,

  log = function(record, step)
    return "info", "Step completed", { duration_ms = record.ms or step and step.ended and step.ended - step.at or nil,
      partial = record.partial }
  end,

  point = function(record)
    return { what = record.checkpoint and "checkpoint" or "done", name = record.checkpoint, text = record.summary }
  end,
}
