-- cli/command/list.lua: `skillrt list [FOLDER ...]`: the runs of folders. Takes no lock, changes nothing.

local selection = require("skillrt.cli.selection")

return {
  name = "list",
  summary = "Lists the runs in a folder, newest first, with their status and open questions",
  arguments = { selection.FOLDER },
  options = table.move(selection.FILTERS, 1, #selection.FILTERS, 2, { { name = "json",
    help = "prints one JSON object per line, in the form of skillrt status --json" } }),
  ---@param args table
  ---@return integer code
  run = function(args)
    local output, runs = require("skillrt.report.output"), require("skillrt.report.runs")
    local list, code = selection.chosen(args)
    if not list then
      return code --[[@as integer]]
    end
    for _, one in ipairs(args.json and list or {}) do
      local books, report = require("skillrt.run.look").books(one.dir)
      output.write_json(books and require("skillrt.report.status").of(one.dir, books, report)
        or { work_dir = one.dir, problem = report })
    end
    if list[1] and not args.json then
      output.write(table.concat(runs.lines(list), "\n") .. "\n")
    end
    return 0
  end,
}
