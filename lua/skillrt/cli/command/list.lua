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
    local lines = {}
    if args.json then
      local json, look = require("skillrt.base.json"), require("skillrt.run.look")
      local status = require("skillrt.report.status")
      for i, one in ipairs(list) do
        local books, report = look.books(one.dir)
        lines[i] = assert(json.encode(books and status.of(one.dir, books, report)
          or { work_dir = one.dir, problem = report }))
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
