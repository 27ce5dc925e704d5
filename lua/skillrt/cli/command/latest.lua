-- cli/command/latest.lua: `skillrt latest [DIR]`: the path of the run that was written to last.

return {
  name = "latest",
  summary = "Prints the directory of the most recently active run: skillrt status $(skillrt latest)",
  arguments = { { name = "DIR", optional = true, help = "a folder of runs; default: runs" } },
  options = {},
  ---@param args table
  ---@return integer code
  run = function(args)
    local ending = require("skillrt.cli.ending")
    local list, message, code = require("skillrt.report.runs").of(args.dir or "runs")
    if list and not list[1] then
      list, message, code = nil, (args.dir or "runs") .. ": holds no runs", "invalid"
    end
    if not list then
      return ending.refused(message, code)
    end
    require("skillrt.report.output").write(list[1].dir .. "\n")
    return 0
  end,
}
