-- cli/command/fork.lua: `skillrt fork DIR@PLACE --out DIR2`: a new run that begins where another one stood.

return {
  name = "fork",
  summary = "Begins a new run at a place of another one's history; resume runs it",
  description = "The new run has a journal, counters and idempotency keys of its own, and names the run it comes from. "
    .. "Steps that were under way there begin anew.",
  arguments = { { name = "PLACE", help = "DIR@SEQ or DIR@NAME; a DIR alone: as it is now" } },
  options = {
    { name = "out", value = "DIR2", needed = true, help = "the directory of the new run; it must not be there yet" },
    { name = "set", value = "key=value", many = true, help = "changes its state first; key:=json for other values" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local ending, moment = require("skillrt.cli.ending"), require("skillrt.run.travel.moment")
    local dir, place = moment.split(args.place)
    local set, message = require("skillrt.cli.settings").read(args.set)
    if not set then
      return ending.refused(message, "usage")
    end
    local done, code
    done, message, code = require("skillrt.run.travel").fork(dir, place, args.out, set)
    if not done then
      return ending.refused(message, code, nil, dir)
    end
    local output, text_of = require("skillrt.report.output"), require("skillrt.base.terminal_text")
    output.write(("%s is run %s, as %s stood behind record %d\n"):format(text_of.escape(args.out),
      text_of.escape(done.books.run_id), text_of.escape(dir), done.seq))
    output.say("info", ("next: skillrt resume %s"):format(text_of.escape(text_of.shell(args.out))))
    return 0
  end,
}
