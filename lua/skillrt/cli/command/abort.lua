-- cli/command/abort.lua: `skillrt abort DIR`: ends a run for good; what it did is undone where its actions say how.

return {
  name = "abort",
  summary = "Aborts a run that paused or was interrupted: what its actions can undo is undone, the last first",
  arguments = { { name = "DIR", help = "the directory of the run" } },
  options = {
    require("skillrt.cli.agent").OPTION,
    require("skillrt.cli.agent").ENV_OPTION,
    require("skillrt.cli.trust").OPTION,
    { name = "accept-changes", help = "go on although the script, a prompt or a strategy changed since" },
    { name = "quiet", help = "only the last line, and errors" },
    { name = "json", help = "an event a line, as JSON" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local options = { abort = true, accept_changes = args.accept_changes }
    return require("skillrt.cli.ending").go_on(args.dir, options, args)
  end,
}
