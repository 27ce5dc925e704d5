-- report/plain.lua: a run as plain lines on standard output; quietly, only what went wrong.
--
-- Lines are made when a record is made and written when it is durable: nothing is told that a
-- crash could take back. A watcher as in policy.lua. Made by report/watch.lua.

local opened = require("skillrt.report.opened")
local output = require("skillrt.report.output")

local M = {}

---@param options { quiet: boolean?, continuing: boolean? }
---@return table watcher
function M.new(options)
  local queue = {}
  local formatter -- made for the first line: a quiet run that goes well has none

  local function lines_of(record, books)
    formatter = formatter or require("skillrt.report.lines").new(options)
    return formatter:of(record, books)
  end
  local fd = options.quiet and 2 or 1
  local self = {}

  -- Quietly only failures are told: a step's beginning is read when there is something to say.
  local begun = {}

  local function is_dull(record)
    local number = record.step
    if record.t == "run" or (record.t == "stop" and record.status == "completed") then
      return true
    elseif record.t == "start" then
      begun[number] = record
      return true
    elseif record.t == "done" and begun[number] then
      begun[number] = nil
      return true
    elseif number and begun[number] then
      lines_of(begun[number])
      begun[number] = nil
    end
    return false
  end

  function self.observe(record, books)
    if options.quiet and is_dull(record) then
      return
    end
    for _, line in ipairs(lines_of(record, books)) do
      if not options.quiet or line.kind == "error" then
        queue[#queue + 1] = output.paint(fd, line.kind, line.text)
      end
    end
  end

  function self.flush()
    if #queue == 0 then
      return
    end
    local text = table.concat(queue, "\n") .. "\n"
    queue = {}
    if options.quiet then
      output.say("info", text:sub(1, -2))
    else
      output.write(text)
    end
  end

  function self.forget()
    queue = {}
  end

  function self.opened(report, books)
    opened.tell(report, books, options.quiet)
  end

  function self.closed()
    self.flush()
  end

  if not options.quiet then
    io.stdout:setvbuf("line") -- what the script prints keeps its place among our lines
  end
  return self
end

return M
