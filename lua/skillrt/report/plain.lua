-- report/plain.lua: a run as plain lines on standard output; with --quiet, only what went wrong.
--
-- Lines are made when a record is made and written when it is durable: except that a step began, nothing is shown
-- that a crash could take back. A watcher as in turn.lua. Made by report/watch.lua.

local opening_line = require("skillrt.report.opening_line")
local output = require("skillrt.report.output")

local M = {}

-- With --quiet only failures are shown, and these records hold none.
local DULL <const> = { run = true, start = true, done = true }

-- The latest failure, in the run or in one of its sub-runs.
local function failed_in(books, number)
  for _, scope in pairs(books.subs or {}) do
    if scope.last_failed and scope.last_failed.step == number then
      return scope.last_failed
    end
  end
  return books.steps[number] or books.last_failed -- still open: its code is to be fixed
end

---@param options { quiet: boolean?, continuing: boolean? }
---@return table watcher
function M.new(options)
  local queue, self, quiet = {}, {}, options.quiet
  local fd = quiet and 2 or 1
  local formatter -- made for the first line: a quiet run that goes well has none

  function self.observe(record, books)
    if quiet and record.t == "stop" and record.status == "completed" then
      return
    end
    formatter = formatter or require("skillrt.report.lines").new(options)
    if quiet and record.t == "fail" and not record.retry then -- its start was not reported
      local failed = failed_in(books, record.step)
      formatter:of({ t = "start", step = record.step, n = record.step, [failed.kind] = failed.id })
    end
    for _, line in ipairs(formatter:of(record, books)) do
      if not quiet or line.kind == "error" then
        queue[#queue + 1] = output.paint(fd, line.kind, line.text)
      end
    end
  end
  self.dull = quiet and DULL or nil

  function self.flush()
    if #queue == 0 then
      return
    end
    local text = table.concat(queue, "\n")
    queue = {}
    if quiet then
      output.say("info", text)
    else
      output.write(text .. "\n")
    end
  end
  self.closed = self.flush

  function self.forget()
    queue = {}
  end

  function self.opened(report, books)
    opening_line.tell(report, books, quiet)
  end

  if not quiet then
    io.stdout:setvbuf("line") -- what the script prints keeps its place among our lines
  end
  return self
end

return M
