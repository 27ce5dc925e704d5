-- cli/command/answer.lua: `skillrt answer DIR VALUE`: answers the open question of a run, and goes on.

return {
  name = "answer",
  summary = "Answers the open question of a run, and goes on with it",
  arguments = {
    { name = "DIR", help = "the directory of the run" },
    { name = "VALUE", help = "the id of an option or its number; a text where there are no options" },
  },
  options = {
    require("skillrt.cli.agent").OPTION,
    { name = "accept-changes", help = "go on although the script, a prompt or a strategy changed since" },
    { name = "yes", help = "with --accept-changes: recorded calls may be forgotten and made anew" },
    { name = "quiet", help = "only the last line, and errors" },
    { name = "json", help = "an event a line, as JSON" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local ending = require("skillrt.cli.ending")
    local books, message, code = require("skillrt.run.look").books(args.dir)
    if not books then
      return ending.refused(message, code, nil, args.dir)
    elseif not books.question then
      local problem = "%s: no question is open in this run (it is %s)"
      return ending.refused(problem:format(args.dir, books.status), "invalid")
    end
    local value, why = require("skillrt.report.question").value(books.question, args.value)
    if value == nil then
      return ending.refused(("%s: %s"):format(args.dir, why), "invalid")
    end
    return ending.go_on(args.dir, { answer = value, accept_changes = args.accept_changes, yes = args.yes }, args)
  end,
}
