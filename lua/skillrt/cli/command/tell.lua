-- cli/command/tell.lua: `skillrt tell DIR LABEL TEXT`: sends an agent of a run another message.

return require("skillrt.cli.steering").command("tell",
  "Sends an agent of a run a further message, once it has answered; the answer to that is what counts",
  { name = "TEXT", help = "the message" })
