-- cli/command/abort.lua: `skillrt abort DIR`: ends a run for good; what it did is undone where its actions say how.

local ending = require("skillrt.cli.ending")

return {
  name = "abort",
  summary = "Aborts a paused or interrupted run and undoes its actions that can be undone, the last one first",
  arguments = { { name = "DIR", help = "the directory of the run" } },
  options = ending.options({}),
  ---@param args table
  ---@return integer code
  run = function(args)
    return ending.go_on(args.dir, { abort = true }, args)
  end,
}
