-- cli/command/retry.lua: `skillrt retry DIR ...`: retries the step that failed last (R70).

local ending = require("skillrt.cli.ending")
local selection = require("skillrt.cli.selection")

return {
  name = "retry",
  drives = true,
  summary = "Retries the step that failed last, and resumes the run",
  arguments = { selection.ARGUMENT },
  options = ending.options(selection.options({
    { name = "step", value = "ID", help = "the action or phase; default: the one that failed last" },
    { name = "from-scratch", help = "repeats all calls of the step, also answered ones; shows first what that costs" },
  })),
  ---@param args table
  ---@return integer code
  run = function(args)
    return selection.each(args, "retry", function(dir)
      return ending.go_on(dir, { retry = args.step or true, from_scratch = args.from_scratch }, args)
    end)
  end,
}
