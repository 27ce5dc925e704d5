-- report/watch.lua: which watcher fits: JSON, quiet, live on a terminal, plain lines elsewhere.
--
-- Loads only the one that is used. Called by cmd/run.lua and those that go on with a run.

local M = {}

---@param options { quiet: boolean?, json: boolean? }
---@return table watcher
function M.new(options)
  if options.json then
    return require("skillrt.report.events").new()
  elseif not options.quiet and require("skillrt.report.output").is_terminal(1) then
    return require("skillrt.report.live").new()
  end
  return require("skillrt.report.plain").new({ quiet = options.quiet })
end

return M
