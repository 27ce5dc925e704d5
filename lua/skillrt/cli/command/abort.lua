-- cli/command/abort.lua: `skillrt abort DIR`: ends a run for good; what it did is undone where its actions say how.

return {
  name = "abort",
  summary = "Aborts a paused or interrupted run and undoes its actions that can be undone, the last one first",
  arguments = { { name = "DIR", help = "the directory of the run" } },
  options = {
    require("skillrt.cli.agent").OPTION,
    require("skillrt.cli.agent").ENV_OPTION,
    require("skillrt.cli.trust").OPTION,
    { name = "accept-changes", help = "resumes although the script, a prompt or a strategy has changed" },
    { name = "quiet", help = "prints errors and the last line only" },
    { name = "json", help = "prints one JSON object per event and line" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    local options = { abort = true, accept_changes = args.accept_changes }
    return require("skillrt.cli.ending").go_on(args.dir, options, args)
  end,
}
