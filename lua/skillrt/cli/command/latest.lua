-- cli/command/latest.lua: `skillrt latest [FOLDER]`: the path of the most recently active run.

return {
  name = "latest",
  summary = "Prints the directory of the run that was active last",
  arguments = { { name = "FOLDER", optional = true, help = "a folder of runs; default: the project's" } },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local dir, message, code = require("skillrt.cli.selection").last(args.folder)
    if not dir then
      return nil, message, code
    end
    require("skillrt.report.output").write(dir .. "\n")
    return 0
  end,
}
