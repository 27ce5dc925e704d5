-- cli/command/fork.lua: `skillrt fork DIR@PLACE --out DIR2`: starts a new run at a place of another one.

return {
  name = "fork",
  summary = "Makes a new run from a place in another run's history; skillrt resume starts it",
  description = "The new run has its own journal, counters and idempotency keys, and records which run it comes from. "
    .. "Steps that were in progress continue with the results they had; sub-runs in progress start over.",
  arguments = { { name = "PLACE", help = "DIR@SEQ or DIR@NAME; DIR alone: the run as it is now" } },
  options = {
    { name = "out", value = "DIR2", needed = true, help = "the directory of the new run; it must not exist" },
    { name = "set", value = "key=value", many = true, help = "changes the state first; key:=json for other values" },
  },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local moment = require("skillrt.run.travel.moment")
    local dir, place = moment.split(args.place)
    local set, message = require("skillrt.cli.settings").read(args.set)
    if not set then
      return nil, message, "usage"
    end
    local done, code
    done, message, code = require("skillrt.run.travel").fork(dir, place, args.out, set)
    if not done then
      return nil, message, code, code == "exists" and args.out or dir
    end
    local output, text_of = require("skillrt.report.output"), require("skillrt.base.terminal_text")
    output.write(("%s is run %s, as %s was after record %d\n"):format(text_of.escape(args.out),
      text_of.escape(done.books.run_id), text_of.escape(dir), done.seq))
    for _, line in ipairs(done.under_way) do
      output.say("info", text_of.escape(line))
    end
    output.say("info", ("next: skillrt resume %s"):format(text_of.escape(text_of.shell(args.out))))
    return 0
  end,
}
