-- report/watch.lua: which watcher fits: JSON, quiet, live on a terminal, plain lines elsewhere.
--
-- Loads only the one that is used. Called by cli/command/run.lua and those that go on with a run.

local M = {}

---Who shows a run to people.
---@param options { quiet: boolean?, json: boolean? }
---@param continuing boolean?  people saw what came before
---@return table watcher
function M.shown(options, continuing)
  if options.json then
    return require("skillrt.report.events").new()
  elseif not options.quiet and require("skillrt.report.output").is_terminal(1) then
    return require("skillrt.report.live").new({ continuing = continuing })
  end
  return require("skillrt.report.plain").new({ quiet = options.quiet, continuing = continuing })
end

---@param options { quiet: boolean?, json: boolean?, log: string? }
---@param continuing boolean?  people saw what came before
---@return table[]|nil watchers
---@return string? message  the log cannot be written
function M.new(options, continuing)
  local log, message
  if options.log then
    log, message = require("skillrt.report.json_log").new(options.log)
    if not log then
      return nil, ("--log: %s"):format(message)
    end
  end
  local list = { M.shown(options, continuing) }
  list[#list + 1] = log
  if os.getenv("OTEL_EXPORTER_OTLP_ENDPOINT") or os.getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") then
    local traces = require("skillrt.report.traces")
    local settings = traces.settings(os.getenv)
    list[#list + 1] = settings and traces.new(settings) or nil
  end
  return list
end

return M
