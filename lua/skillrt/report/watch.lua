-- report/watch.lua: chooses the watcher: JSON, quiet, live on a terminal, or plain lines elsewhere.
--
-- Loads only the one that is used. Called by cli/command/run.lua, those that resume a run, and cli/host.lua.

local M = {}

---The watcher that shows a run to people.
---@param options { quiet: boolean?, json: boolean?, print: boolean? }
---@param continuing boolean?  people saw what came before
---@return table watcher
function M.shown(options, continuing)
  if options.json then
    return require("skillrt.report.events").new()
  elseif not options.quiet and not options.print and require("skillrt.report.output").is_terminal(1) then
    return require("skillrt.report.live").new({ continuing = continuing })
  end
  return require("skillrt.report.plain").new({ quiet = options.quiet, continuing = continuing })
end

-- The watcher that shows a run, and those that write its log and send its traces.
local function with_reports(shown, options, traced, address, in_host)
  local list = { shown }
  if options.log then
    local log, message = require("skillrt.report.json_log").new(options.log, in_host and function() end or nil)
    if not log then
      return nil, ("%slog: %s"):format(in_host and "" or "--", message)
    end
    list[#list + 1] = log
  end
  local traces = traced and require("skillrt.report.traces")
  local settings = traces and traces.settings(address)
  if settings then
    settings.http_module = options.http_module
    list[#list + 1] = traces.new(settings, in_host)
  end
  return list
end

-- Whether the environment names a collector of traces.
local function is_traced()
  return os.getenv("OTEL_EXPORTER_OTLP_ENDPOINT") or os.getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
end

---@param options { quiet: boolean?, json: boolean?, log: string? }
---@param continuing boolean?  people saw what came before
---@return table[]|nil watchers
---@return string? message  why the log cannot be written
function M.new(options, continuing)
  return with_reports(M.shown(options, continuing), { log = options.log }, is_traced())
end

---The log and traces of a program that embeds skillrt; prints nothing and waits for nothing.
---@param options { log: string?, traces: string?, http_module: string? }  traces: an address, or "environment"
---@param shown table|nil  the host's own watcher
---@return table[]|nil watchers
---@return string? message
function M.of_host(options, shown)
  local address = options.traces ~= "environment" and options.traces or nil
  return with_reports(shown, options, address or options.traces and is_traced(), address, true)
end

return M
