-- cli/command/again.lua: `skillrt again DIR LABEL`: asks an agent of a run again.

return require("skillrt.cli.steering").command("again",
  "Asks an agent of a run again: one under way or, in a run that has ended, one that failed or answered")
