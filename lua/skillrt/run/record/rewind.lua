-- run/record/rewind.lua: phases run again, as if for the first time.

local back = require("skillrt.run.books.back")
local failures = require("skillrt.run.books.failures")
local steps = require("skillrt.run.step.step")
local subs = require("skillrt.run.books.subs")

-- Rounds that contain one of the phases count as not started.
local function forget_rounds(books, again)
  for key in pairs(books.rounds or {}) do
    local first, last = key:match("^(.-) %.%. (.*)$")
    if again[first] or again[last] then
      books.rounds[key] = nil
    end
  end
end

return {
  doc = "phases run again",
  fields = [[
    sub string?
    phases list
    loop boolean? the loop of a hybrid run continues
    forget list? terminal actions that are as if they had not run
    forgive string? a failed action that may run again
  ]],

  apply = function(books, record, whole)
    local again = back.as_set(record.phases)
    for id in pairs(again) do
      books.completed[id] = nil
      if books.held then
        books.held[id] = nil
      end
      failures.forgive(books, id)
      books.state:replace("outputs", id, nil)
    end
    for file, id in pairs(books.outputs) do
      if again[id] then
        books.outputs[file] = nil
      end
    end
    for _, step in pairs(whole.steps) do
      if again[step.id] and not step.sub then
        steps.close(books, step, record)
      end
    end
    forget_rounds(books, again)
    for _, list in ipairs({ "phases_completed", "phases_skipped" }) do
      books.state:set(list, back.without(books.state.root[list], "id", again))
    end
    if record.loop then
      books.loop_end = nil
    end
    back.forget(books, record.forget)
    if record.forgive then
      failures.forgive(books, record.forgive)
    end
    books.permission = nil
    subs.sweep(whole)
  end,

  line = function(lines, record)
    for _, id in ipairs(record.phases) do
      if lines.over[id] then
        lines.over[id] = nil
        lines.completed = lines.completed - 1
      end
    end
    if record.phases[1] then
      lines:say(false, "info", "Running again: %s", lines.joined(record.phases, 20))
    end
  end,
}
