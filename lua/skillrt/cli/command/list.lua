-- cli/command/list.lua: `skillrt list [DIR]`: the runs of a folder. Takes no lock, changes nothing.

return {
  name = "list",
  summary = "Lists the runs in a folder, newest first, with their status and open questions",
  arguments = { { name = "DIR", optional = true, help = "a folder of runs; default: runs" } },
  options = { { name = "json", help = "prints one JSON object per line, in the form of skillrt status --json" } },
  ---@param args table
  ---@return integer code
  run = function(args)
    local output = require("skillrt.report.output")
    local runs = require("skillrt.report.runs")
    local list, message, code = runs.of(args.dir or "runs")
    if not list then
      return require("skillrt.cli.ending").refused(message, code)
    end
    local lines = {}
    if args.json then
      local json = require("skillrt.base.json")
      for i, one in ipairs(list) do
        lines[i] = assert(json.encode(one.status or { work_dir = one.dir, problem = one.problem }))
      end
    else
      lines = runs.lines(list)
    end
    if lines[1] then
      output.write(table.concat(lines, "\n") .. "\n")
    end
    return 0
  end,
}
