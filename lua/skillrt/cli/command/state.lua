-- cli/command/state.lua: `skillrt state DIR`: a run's state according to its journal, whatever state.json says. Takes
-- no lock, changes nothing.

local core = require("skillrt.core")

return {
  name = "state",
  summary = "Prints a run's state as JSON, from its journal",
  arguments = { require("skillrt.cli.selection").RUN },
  options = {},
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local books, found, code = require("skillrt.run.look").books(args.dir)
    if not books then
      return nil, found, code
    end
    local state = require("skillrt.run.views").state(books)
    require("skillrt.report.output").write(assert(core.json.encode(state, { indent = 2 })) .. "\n")
    return 0
  end,
}
