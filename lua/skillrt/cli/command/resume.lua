-- cli/command/resume.lua: `skillrt resume DIR`: goes on with a run that paused or was interrupted.

return {
  name = "resume",
  summary = "Goes on with a run that paused or was interrupted; finished steps are not repeated",
  arguments = { { name = "DIR", help = "the directory of the run" } },
  shows_limits = true,
  options = {
    require("skillrt.cli.agent").OPTION,
    require("skillrt.cli.agent").ENV_OPTION,
    { name = "accept-changes", help = "go on although the script, a prompt or a strategy changed since" },
    { name = "yes", help = "with --accept-changes: recorded calls may be forgotten and made anew" },
    { name = "accept-edits", help = "take over a state.json that was edited by hand" },
    {
      name = "add",
      value = "LIMIT=NUMBER",
      many = true,
      help = "raises a limit: calls=50, usage.tokens=100000; of an action: ID.calls=5; recorded",
    },
    { name = "from", value = "PHASE", help = "run the phases from this one on again" },
    {
      name = "decide",
      value = "WHAT",
      choices = { "retry", "skip", "fail" },
      help = "what becomes of a request that left without a reply being known: retry, skip or fail",
    },
    { name = "wait", help = "stay with a run that only waits, for a person, an event or a time" },
    { name = "quiet", help = "only the last line, and errors" },
    { name = "json", help = "an event a line, as JSON" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local add, problem = require("skillrt.cli.settings").amounts(args.add, "--add")
    if problem then
      return require("skillrt.cli.ending").refused(problem, "invalid")
    end
    return require("skillrt.cli.ending").go_on(args.dir, {
      add = add,
      accept_changes = args.accept_changes,
      yes = args.yes,
      accept_edits = args.accept_edits,
      from = args.from,
      decide = args.decide,
      wait = args.wait,
    }, args)
  end,
}
