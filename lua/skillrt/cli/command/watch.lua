-- cli/command/watch.lua: `skillrt watch DIR`: shows a run of another process as if it had started here, until it
-- stops.
--
-- Takes no lock. The system notifies us when the journal grows. Once a second we check that somebody still holds the
-- run, because a killed process writes no last record.


local M = {
  name = "watch",
  summary = "Shows a run of another process live: its lines, what is under way and for how long",
  description = "Ends when the run stops, or when its process is gone. The output of agents under way is shown only in "
    .. "the terminal where the run was started.",
  arguments = { require("skillrt.cli.selection").RUN },
  options = {},
}

local SHOWN <const> = 20 -- earlier records whose lines are shown

-- Its status when it has stopped, and what to type next.
local function close(dir, books, report, stopped)
  local output, status_of = require("skillrt.report.output"), require("skillrt.report.status")
  local status = status_of.of(dir, books, report)
  if stopped then -- its process may still be closing the run
    status.held_by = nil
    status.next = status_of.next(books, status, dir)
  end
  output.write(status_of.stands(status) .. "\n")
  if status.next then
    output.say("info", "next: " .. status.next)
  end
  return 0
end

---@param args table
---@return integer|nil code
function M.run(args)
  local books_of = require("skillrt.run.books")
  local read = require("skillrt.run.look").behind
  local dir, told, books = args.dir, { next = 0 }, books_of.new()
  local stopped, newest
  local store = require("skillrt.run.store").at(dir)
  local first, problem, cause = store:read(function()
    return false
  end)
  if not first then
    return nil, problem, cause, dir
  end
  local watcher = require("skillrt.report.watch").shown({})
  local function tell(record, seq)
    books_of.apply(books, record, seq)
    watcher.observe(record, books)
    if seq < first.last - SHOWN then
      watcher.forget()
    end
    if record.t == "stop" and not record.sub then
      stopped = true
    elseif record.t == "resume" then
      stopped = false
    end
  end
  local interrupted, message, code = false
  repeat
    newest, message, code = read(dir, told, tell)
    watcher.flush()
    local is_over = not newest or stopped or not store:holder()
    if not is_over then
      interrupted = store:changed(1000) == nil
      if watcher.tick then
        watcher.tick()
      end
    end
  until is_over or interrupted
  if newest and not interrupted then
    read(dir, told, tell) -- its last records, written before it closed the run
  end
  watcher.closed()
  if not newest then
    return nil, message, code, dir
  end
  return interrupted and require("skillrt.cli.exit_codes").interrupted or close(dir, books, newest, stopped)
end

return M
