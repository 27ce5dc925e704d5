-- cli/command/rollback.lua: `skillrt rollback DIR --to PLACE`: takes a run back to an earlier place of its history.

return {
  name = "rollback",
  summary = "Rolls a run back to an earlier place and pauses it there; skillrt resume continues",
  description = "State, outputs and completed steps become what they were at that place; you can roll forward "
    .. "again. Spent calls stay spent. Later output files are renamed to FILE.rolled-back-SEQ. Effects of "
    .. "steps outside the run are not undone.",
  arguments = { require("skillrt.cli.selection").RUN },
  options = {
    { name = "to", value = "PLACE", needed = true, help = "a record's number, or a checkpoint's name; "
      .. "`skillrt history DIR` lists them" },
  },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local done, message, code = require("skillrt.run.travel").rollback(args.dir, args.to)
    if not done then
      return nil, message, code
    end
    local output, text_of = require("skillrt.report.output"), require("skillrt.base.terminal_text")
    local dir = text_of.escape(text_of.shell(args.dir))
    output.write(("%s is now as it was after record %d\n"):format(text_of.escape(args.dir), done.seq))
    for _, file in ipairs(done.files) do
      output.write(("as it was: %s\n"):format(text_of.escape(file)))
    end
    for _, one in ipairs(done.left) do
      output.write(("left as it is: %s: %s; it is %s, and was %s\n"):format(text_of.escape(one.path), one.why,
        one.now and one.now:sub(1, 12) or "not there", one.was and one.was:sub(1, 12) or "not there"))
    end
    for _, line in ipairs(done.under_way) do
      output.say("info", text_of.escape(line))
    end
    output.say("info", ("next: skillrt resume %s   (resumes from there)"):format(dir))
    return 0
  end,
}
