-- run/record/retry.lua: a person, or a resume, retries a failed step.

local back = require("skillrt.run.books.back")
local failures = require("skillrt.run.books.failures")
local steps = require("skillrt.run.step.step")
local subs = require("skillrt.run.books.subs")

return {
  doc = "a failed step is performed again",
  fields = [[
    action string? its id
    phase string? its id
    sub string?
    forget list? terminal actions that are as if they had not run
    harmless boolean? of the calls that its failure blames only harmless ones are sent again
    scratch boolean? no result of it is used
  ]],

  apply = function(books, record, whole)
    local id = record.action or record.phase
    local is_error = not record.harmless or books.failed[id] or books.given_up[id]
    books.retrying, books.permission = id, record.harmless and "harmless" or "allowed"
    if record.sub then
      books.opened_at = record.at
    end
    if (books.free_errors or 0) > 0 and books.given_up[id] then
      books.free_errors = books.free_errors - 1
    end
    failures.forgive(books, id)
    if record.scratch then -- all its results, too
      for _, step in pairs(whole.steps) do
        if step.id == id and step.sub == books.sub then
          steps.close(books, step, record)
        end
      end
      if books.held then
        books.held[id] = nil
      end
    end
    if books.decided and not record.harmless then
      books.decided[id] = nil -- a later decision
    end
    if record.action then
      books.loop_end = nil
    end
    back.forget(books, record.forget)
    if is_error then
      books.state:set("error_count", math.max(0, books.state.root.error_count - 1))
    end
    subs.sweep(whole)
  end,

  line = function(lines, record)
    lines:say(false, "info", "Retrying: %s", record.action or record.phase or "?")
  end,
}
