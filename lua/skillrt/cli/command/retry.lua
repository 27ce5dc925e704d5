-- cli/command/retry.lua: `skillrt retry DIR`: tries the step that failed last again (R70).

return {
  name = "retry",
  summary = "Tries the step that failed last again, and resumes the run",
  arguments = {
    { name = "DIR", help = "the directory of the run" },
    { name = "ID", optional = true, help = "the action or phase; default: what failed last" },
  },
  options = {
    require("skillrt.cli.agent").OPTION,
    require("skillrt.cli.agent").ENV_OPTION,
    require("skillrt.cli.trust").OPTION,
    { name = "from-scratch", help = "asks everyone again, whatever was answered; says first what that costs" },
    { name = "accept-changes", help = "go on although the script, a prompt or a strategy changed since" },
    { name = "yes", help = "with --accept-changes or --from-scratch: recorded calls may be forgotten and made anew" },
    { name = "wait", help = "stay with a run that only waits, for a person, an event or a time" },
    { name = "quiet", help = "only the last line, and errors" },
    { name = "json", help = "an event a line, as JSON" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local options = { retry = args.id or true, from_scratch = args.from_scratch,
      accept_changes = args.accept_changes, yes = args.yes, wait = args.wait }
    return require("skillrt.cli.ending").go_on(args.dir, options, args)
  end,
}
