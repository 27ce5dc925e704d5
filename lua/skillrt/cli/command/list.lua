-- cli/command/list.lua: `skillrt list [FOLDER ...]`: the runs of folders. Takes no lock, changes nothing.

local selection = require("skillrt.cli.selection")

return {
  name = "list",
  summary = "Lists the runs in a folder, newest first, with their status and open questions",
  arguments = { { name = "FOLDER", many = true, optional = true, help = "folders of runs; default: runs" } },
  options = table.move(selection.FILTERS, 1, #selection.FILTERS, 2, { { name = "json",
    help = "prints one JSON object per line, in the form of skillrt status --json" } }),
  ---@param args table
  ---@return integer code
  run = function(args)
    local output, ending = require("skillrt.report.output"), require("skillrt.cli.ending")
    local runs = require("skillrt.report.runs")
    local filter, wrong = selection.filter(args)
    if wrong then
      return ending.refused(wrong, "invalid")
    end
    local list, message, code = selection.listed(args.folder, filter)
    if not list then
      return ending.refused(message, code)
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
