-- cli/command/skip.lua: `skillrt skip DIR LABEL`: skips an agent of a run.

return require("skillrt.cli.steering").command("skip",
  "Skips an agent of a run: the step that asked it gets no result (null in a workflow script)")
