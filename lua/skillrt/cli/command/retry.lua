-- cli/command/retry.lua: `skillrt retry DIR`: tries the step that failed last again (R70).

return {
  name = "retry",
  summary = "Retries the step that failed last, and resumes the run",
  arguments = {
    { name = "DIR", help = "the directory of the run" },
    { name = "ID", optional = true, help = "the action or phase; default: the one that failed last" },
  },
  options = {
    require("skillrt.cli.agent").OPTION,
    require("skillrt.cli.agent").ENV_OPTION,
    require("skillrt.cli.trust").OPTION,
    { name = "from-scratch", help = "repeats all calls of the step, also answered ones; shows first what that costs" },
    { name = "accept-changes", help = "resumes although the script, a prompt or a strategy has changed" },
    { name = "yes", help = "with --accept-changes or --from-scratch: recorded results may be discarded and the calls "
      .. "repeated" },
    { name = "wait", help = "stays while the run only waits: for a person, an event or a time" },
    { name = "quiet", help = "prints errors and the last line only" },
    { name = "json", help = "prints one JSON object per event and line" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local options = { retry = args.id or true, from_scratch = args.from_scratch,
      accept_changes = args.accept_changes, yes = args.yes, wait = args.wait }
    return require("skillrt.cli.ending").go_on(args.dir, options, args)
  end,
}
