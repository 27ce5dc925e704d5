-- report/plain.lua: a run as plain lines on standard output; quietly, only what went wrong.
--
-- Lines are made when a record is made and written when it is durable: nothing is told that a
-- crash could take back, but, by a power cut, that a function began. A watcher as in policy.lua.
-- Made by report/watch.lua.

local opened = require("skillrt.report.opened")
local output = require("skillrt.report.output")

local M = {}

-- Quietly only failures are told: a step's beginning is read (given to `catch_up`) when there is
-- something to say of it.
local function quietly(catch_up, show)
  local begun = {}

  return function(record, books)
    local kind, number = record.t, record.step
    local beginning = begun[number or 0]
    if kind == "start" then
      begun[number] = record
    elseif kind == "done" and beginning then
      begun[number] = nil
    elseif kind ~= "run" and not (kind == "stop" and record.status == "completed") then
      if beginning then
        catch_up(beginning)
        begun[number] = nil
      end
      show(record, books)
    end
  end
end

---@param options { quiet: boolean?, continuing: boolean? }
---@return table watcher
function M.new(options)
  local queue, self, quiet = {}, {}, options.quiet
  local fd = quiet and 2 or 1
  local formatter -- made for the first line: a quiet run that goes well has none

  local function lines_of(record, books)
    formatter = formatter or require("skillrt.report.lines").new(options)
    return formatter:of(record, books)
  end

  local function show(record, books)
    for _, line in ipairs(lines_of(record, books)) do
      if not quiet or line.kind == "error" then
        queue[#queue + 1] = output.paint(fd, line.kind, line.text)
      end
    end
  end
  self.observe = quiet and quietly(lines_of, show) or show

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
    opened.tell(report, books, quiet)
  end

  if not quiet then
    io.stdout:setvbuf("line") -- what the script prints keeps its place among our lines
  end
  return self
end

return M
