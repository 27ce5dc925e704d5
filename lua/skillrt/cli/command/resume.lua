-- cli/command/resume.lua: `skillrt resume DIR ...`: resumes runs that paused or were interrupted.

local ending = require("skillrt.cli.ending")
local selection = require("skillrt.cli.selection")

-- Whether something that a run waits for may have arrived: a file in its inbox, a time.
local function has_come(store, books)
  local now = require("skillrt.core").wall_ms()
  if books.due and books.due <= now then
    return true
  end
  for _, step in pairs(books.steps) do
    if step.retry_at and step.retry_at <= now then
      return true
    end
    for _, call in pairs(step.calls) do
      if call.due and call.due <= now then
        return true
      end
    end
  end
  return store:waiting() > 0
end

-- Options that change nothing in a run: with these alone, a run that still waits need not be resumed.
local ASKS_NOTHING <const> = { dir = true, rest = true, quiet = true, log = true, all = true, due = true }
for _, filter in ipairs(selection.FILTERS) do
  ASKS_NOTHING[filter.name:gsub("-", "_")] = true
end

-- Leaves a run that still waits as it is: writes nothing and does not load its script. The exit code; nil: it is to
-- be resumed.
local function left_waiting(dir, args, books, report)
  for name in pairs(args) do
    if not ASKS_NOTHING[name] then
      return nil
    end
  end
  local look, store = require("skillrt.run.look"), require("skillrt.run.store").at(dir)
  if not books or not look.waits(books) or ending.can_ask(args)
    or report.view_edited or store:holder() or has_come(store, books) then
    return nil
  end
  local output, text_of = require("skillrt.report.output"), require("skillrt.base.terminal_text")
  local open = require("skillrt.run.books.questions").list(books)
  if not args.quiet then
    local text = "%s: still waiting: %s"
    output.write(text:format(text_of.escape(dir), text_of.lines(tostring(books.message))[1] or "") .. "\n")
  end
  local codes = require("skillrt.cli.exit_codes")
  return open[1] and codes.person or codes.paused
end

-- Whether a timer must resume a run: its process is gone, or what it waits for has arrived.
local function is_due(dir)
  local look, store = require("skillrt.run.look"), require("skillrt.run.store").at(dir)
  local books = look.books(dir)
  return books and not store:holder()
    and (look.standing(books.status) == "interrupted" or look.waits(books) and has_come(store, books))
end

-- Pauses a run that kills every process that performs it; nil: it is no such run. The exit code.
local function held_back(dir, books)
  local poison = require("skillrt.skill.limit.poison")
  local message = books and poison.reached(books)
  if not message then
    return nil
  end
  local travel = require("skillrt.run.travel")
  local paused, why, code = travel.write(dir, { travel.stop(poison.reason, message) })
  if not paused then
    return ending.refused(why, code, dir)
  end
  return require("skillrt.cli.exit_codes").paused
end

-- Starts the runs of a schedule that are due; nil: it is no schedule. The exit code.
local function fired(dir, books)
  if not (books and books.schedule) then
    return nil
  end
  local fires, message, code = require("skillrt.run.schedule").look(dir)
  return fires and require("skillrt.cli.exit_codes").paused or ending.refused(message, code, dir)
end

-- Closes a run that has ended and that its process could not close; nil: it is no such run. The exit code.
local function closed(dir, books, report)
  if not (books and report.unclean and require("skillrt.run.look").has_ended(books)) then
    return nil
  end
  local done, message, code = require("skillrt.run.travel").close(dir)
  return done and require("skillrt.cli.exit_codes").of_result(done) or ending.refused(message, code, dir)
end

-- What needs no resume of the run: the exit code; nil: it is to be resumed.
local function before(dir, args)
  local books, report = require("skillrt.run.look").books(dir)
  return args.submitted and (held_back(dir, books) or closed(dir, books, report)) or fired(dir, books)
    or left_waiting(dir, args, books, report), books
end

-- The runs that a timer must resume, of those named and those in the named folders.
local function due_of(words)
  local store_of, due = require("skillrt.run.store"), {}
  local function look(dir, status, is_held)
    local is_open = status == "paused" or status == "executing"
    due[#due + 1] = is_open and not is_held and is_due(dir) and dir or nil
  end
  for _, word in ipairs(words) do
    local ok, message, code = true, nil, nil
    if store_of.at(word):exists() then
      look(word, "paused")
    else
      ok, message, code = store_of.list(word, look)
    end
    if not ok then
      return nil, message, code
    end
  end
  return due
end

return {
  name = "resume",
  drives = true,
  summary = "Resumes a run that paused, was interrupted or ended; finished steps are not repeated",
  arguments = { selection.ARGUMENT },
  shows_limits = true,
  options = ending.options(selection.options({
    { name = "due", help = "for a timer: resumes only runs whose process is gone, or for which something has come; "
      .. "DIR may be a folder of runs; the others are passed over in silence, with exit code 0" },
    { name = "accept-edits", help = "adopts a state.json that was edited by hand" },
    {
      name = "add",
      value = "LIMIT=NUMBER",
      many = true,
      help = "raises a limit: calls=50, usage.tokens=100000; of one action: ID.calls=5",
    },
    { name = "from", value = "PHASE", help = "repeats the phases from this one on" },
    {
      name = "decide",
      value = "WHAT",
      choices = { "retry", "skip", "fail" },
      help = "what to do with calls whose outcome is unknown: retry, skip or fail",
    },
    { name = "log", value = "FILE", help = "appends each event to a file, one JSON object per line" },
  })),
  -- Of a worker: approves the code that was submitted with the run, and pauses a run that kills its processes.
  inner = { { name = "submitted" } },
  before = before,
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local add, problem = require("skillrt.cli.settings").amounts(args.add, "--add")
    if problem then
      return nil, problem, "invalid"
    end
    if args.due then
      local due, message, code = due_of(args.dir or { require("skillrt.run.folder").path() })
      if not due then
        return nil, message, code
      elseif not due[1] then
        return 0
      end
      args.dir = due
    end
    return selection.each(args, "resume", function(dir)
      return (before(dir, args)) or ending.go_on(dir, {
        add = add,
        accept_edits = args.accept_edits,
        from = args.from,
        decide = args.decide,
      }, args)
    end)
  end,
}
