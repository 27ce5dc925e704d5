-- cli/command/resume.lua: `skillrt resume DIR`: goes on with a run that paused or was interrupted.

local ending = require("skillrt.cli.ending")

local WAITS <const> = {
  needs_decision = true,
  waiting_for_person = true,
  waiting_for_event = true,
  waiting_for_time = true,
}

-- Whether something that a run waits for may have come: a file in its inbox, a time.
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

-- From cron a run that still waits is left as it is: nothing is written, its script is not read. The exit code;
-- nil: it is gone on with.
local function left_waiting(args)
  for name in pairs(args) do
    if name ~= "dir" and name ~= "quiet" and name ~= "log" and name ~= "rest" then
      return nil
    end
  end
  local store = require("skillrt.run.store").at(args.dir)
  local books, report = require("skillrt.run.look").books(args.dir)
  if not books or books.status ~= "paused" or not WAITS[books.reason] or ending.can_ask(args)
    or report.view_edited or store:holder() or has_come(store, books) then
    return nil
  end
  local output, text_of = require("skillrt.report.output"), require("skillrt.base.terminal_text")
  local open = require("skillrt.run.books.questions").list(books)
  if not args.quiet then
    local text = "%s: still waits, and nothing has come: %s"
    output.write(text:format(text_of.escape(args.dir), text_of.lines(tostring(books.message))[1] or "") .. "\n")
  end
  local codes = require("skillrt.cli.exit_codes")
  return open[1] and codes.person or codes.paused
end

return {
  name = "resume",
  summary = "Resumes a run that paused, was interrupted or ended; finished steps are not repeated",
  arguments = { { name = "DIR", help = "the directory of the run" } },
  shows_limits = true,
  options = ending.options({
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
  }),
  ---@param args table
  ---@return integer code
  run = function(args)
    local add, problem = require("skillrt.cli.settings").amounts(args.add, "--add")
    if problem then
      return ending.refused(problem, "invalid")
    end
    local code = left_waiting(args)
    if code then
      return code
    end
    return ending.go_on(args.dir, {
      add = add,
      accept_edits = args.accept_edits,
      from = args.from,
      decide = args.decide,
    }, args)
  end,
}
