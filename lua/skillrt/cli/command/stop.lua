-- cli/command/stop.lua: `skillrt stop DIR ...`: stops the processes that advance runs, as Ctrl-C would there.

local output = require("skillrt.report.output")
local selection = require("skillrt.cli.selection")
local text_of = require("skillrt.base.terminal_text")

local LONGEST_MS <const> = 10000 -- programs get 2 s to end, then the disk may take its time

local function stop(dir)
  local store, shown = require("skillrt.run.store").at(dir), text_of.escape(dir)
  local holder = store:holder()
  if not store:exists() then
    return nil, dir .. ": contains no run", "missing"
  elseif not holder then
    output.say("info", shown .. ": no process advances it")
    return 0
  end
  local ok, message, code = require("skillrt.cli.stopping").ask(holder)
  if not ok then
    return nil, ("%s: %s"):format(dir, message), code
  elseif not store:wait(function() return not store:holder() end, LONGEST_MS) then
    return nil, ("%s: process %d has not ended yet"):format(dir, holder.pid), "busy", dir
  end
  output.write(("%s: stopped; skillrt resume %s resumes it\n"):format(shown, text_of.escape(text_of.shell(dir))))
  return 0
end

return {
  name = "stop",
  summary = "Stops the process that advances a run, as Ctrl-C there would; the run can be resumed",
  arguments = { selection.ARGUMENT },
  options = selection.options({}),
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    return selection.each(args, "stop", stop)
  end,
}
