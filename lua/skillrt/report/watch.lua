-- report/watch.lua: which watcher fits: JSON, quiet, live on a terminal, plain lines elsewhere.
--
-- Loads only the one that is used. Called by cmd/run.lua and those that go on with a run.

local M = {}

---@param options { quiet: boolean?, json: boolean? }
---@param continuing boolean?  people saw what came before
---@return table watcher
function M.new(options, continuing)
  if options.json then
    return require("skillrt.report.events").new()
  elseif not options.quiet and require("skillrt.report.output").is_terminal(1) then
    return require("skillrt.report.live").new({ continuing = continuing })
  end
  return require("skillrt.report.plain").new({ quiet = options.quiet, continuing = continuing })
end

return M
