-- run/record/resume.lua: a paused run is resumed, or one that reached a limit or lost its process.

local consumption = require("skillrt.run.books.consumption")

-- It resumes after a truncation of its journal: the first call of each open branch may have been sent already.
local function cut(books, record)
  books.cuts = record.cuts or books.cuts
  if record.doubtful then
    for _, step in pairs(books.steps) do
      step:cut_off()
    end
    books.doubtful = true -- what is chosen next may have been in the lost part
  end
end

-- The cause of the pause does not pause it again; an earlier failure does.
local function begin_anew(books)
  books.signatures = nil
  if books.halt and books.halt[1] == "paused" then
    books.halt = nil
  end
end

return {
  doc = "a run is resumed",
  fields = [[
    by string? the program
    add table? what is added to limits
    bounds table? which limits hold, where that changed
    cuts list? files of what was cut off the journal
    doubtful boolean? what was reported may be among it
  ]],

  apply = function(books, record)
    local state, is_going = books.state, books.last_step > 0
    cut(books, record)
    consumption.reopened(books, record)
    books.status = is_going and "executing" or "pending"
    books.reason, books.message, books.rolled = nil, nil, nil
    begin_anew(books)
    for _, scope in pairs(books.subs or {}) do
      begin_anew(scope)
    end
    state:set("status", is_going and "running" or "pending")
    state:set("completed_at", nil)
    state:set("failed_at", nil)
  end,

  line = function(lines, _, _, books) -- R69: what was under way, what is completed
    local going, completed = lines:seed(books)
    lines.status = #going > 0 and "running" or "pending"
    if lines.continuing then
      return
    end
    lines:say(false, "info", "Resuming from: %s", #going > 0 and lines.joined(going, 10)
      or #completed > 0 and "the next step" or "start")
    lines:say(false, "info", "%s", #completed > 0 and "Already completed: " .. lines.joined(completed, 20)
      or "Nothing completed yet")
    lines:open_calls(books)
  end,

  story = function(story, record)
    local last = story.sessions[#story.sessions]
    if last and not last.to then -- it was stopped from outside
      last.to, last.status = story.before, "interrupted"
    end
    story.sessions[#story.sessions + 1] = { from = record.at }
    story.status, story.reason, story.message = "executing", nil, nil
  end,

  log = function()
    return "info", "Run resumed", {}
  end,
}
