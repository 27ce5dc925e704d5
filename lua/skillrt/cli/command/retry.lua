-- cli/command/retry.lua: `skillrt retry DIR`: tries the step that failed last again (R70).

local ending = require("skillrt.cli.ending")

return {
  name = "retry",
  summary = "Retries the step that failed last, and resumes the run",
  arguments = {
    { name = "DIR", help = "the directory of the run" },
    { name = "ID", optional = true, help = "the action or phase; default: the one that failed last" },
  },
  options = ending.options({
    { name = "from-scratch", help = "repeats all calls of the step, also answered ones; shows first what that costs" },
  }),
  ---@param args table
  ---@return integer code
  run = function(args)
    return ending.go_on(args.dir, { retry = args.id or true, from_scratch = args.from_scratch }, args)
  end,
}
