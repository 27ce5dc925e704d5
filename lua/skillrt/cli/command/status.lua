-- cli/command/status.lua: `skillrt status DIR`: a run's status. Takes no lock, changes nothing.

return {
  name = "status",
  summary = "Shows a run's status, steps, last error, open questions, and the suggested next command",
  arguments = { require("skillrt.cli.selection").RUN },
  options = { { name = "json", help = "prints one JSON object" } },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local output = require("skillrt.report.output")
    local report = require("skillrt.report.status")
    local books, found, code = require("skillrt.run.look").books(args.dir)
    if not books then
      return nil, found, code
    end
    local status = report.of(args.dir, books, found --[[@as table]])
    if args.json then
      output.write_json(status)
    else
      output.write(table.concat(report.lines(status, books), "\n") .. "\n")
    end
    return 0
  end,
}
