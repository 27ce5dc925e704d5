-- cli/command/list.lua: `skillrt list [FOLDER ...]`: the runs of folders. Takes no lock, changes nothing.

local selection = require("skillrt.cli.selection")

local PAGE <const> = 100

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
    collectgarbage("generational") -- a row is soon forgotten, and the modules are not looked at again
    local page = {} -- the next lines: of one width
    local function write()
      if page[1] then
        output.write(table.concat(runs.lines(page), "\n") .. "\n")
      end
      page = {}
    end
    local code = selection.chosen(args, function(one)
      if args.json then
        local books, report = require("skillrt.run.look").books(one.dir)
        output.write_json(books and require("skillrt.report.status").of(one.dir, books, report)
          or { work_dir = one.dir, problem = report })
        return
      end
      page[#page + 1] = one
      if #page == PAGE then
        write()
      end
    end)
    write()
    return code
  end,
}
