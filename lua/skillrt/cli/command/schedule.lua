-- cli/command/schedule.lua: `skillrt schedule WHAT PLACE`: manages the schedules that skillrt submit --cron made.

-- The lines of a list, oldest name first.
local function lines_of(place)
  local instant, lines = require("skillrt.base.instant"), {}
  local filter = { statuses = { paused = true, running = true, interrupted = true } }
  local ok, message, code = require("skillrt.report.runs").each(place, filter, function(one)
    local schedule = one.status.schedule
    lines[#lines + 1] = schedule and ("%s  %s  %s, begun %d, missed %d"):format(one.dir, schedule.cron,
      one.status.reason == "poison" and "paused: poison" or schedule.due and "next " .. instant.iso(schedule.due)
        or "paused", schedule.begun, schedule.missed) or nil
  end)
  if not ok then
    return nil, message, code
  end
  table.sort(lines)
  return lines
end

return {
  name = "schedule",
  summary = "Lists schedules (made by skillrt submit --cron), pauses and resumes one, or begins its run now, whose "
    .. "place it prints",
  description = "When a paused schedule is resumed, it continues with the next time. skillrt abort ends it for "
    .. "good; runs that it has begun continue.",
  arguments = {
    { name = "WHAT", choices = { "list", "pause", "resume", "now" }, help = "what to do" },
    { name = "PLACE", help = "list: a folder of runs or a database; else the schedule, as submit prints it" },
  },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local output, text_of = require("skillrt.report.output"), require("skillrt.base.terminal_text")
    if args.what == "list" then
      local lines, message, code = lines_of(args.place)
      if not lines then
        return nil, message, code
      end
      for _, line in ipairs(lines) do
        output.write(text_of.escape(line) .. "\n")
      end
      return 0
    end
    local books, more, code = require("skillrt.run.schedule").change(args.place, args.what)
    if not books then
      return nil, more, code, args.place
    elseif more then -- as submit prints it
      output.write(text_of.escape(more) .. "\n")
    end
    return 0
  end,
}
