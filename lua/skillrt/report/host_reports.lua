-- report/host_reports.lua: what a program that embeds skillrt has written of a run: its log and traces.
--
-- A watcher as in run/journal.lua that prints nothing and waits for nothing. Called by cli/host.lua.

local M = {}

-- The collector that a host names: by its address, or as the environment has it.
local function settings_of(options)
  local given = options.traces
  local settings = require("skillrt.report.traces").settings(function(name)
    if given ~= "environment" and name == "OTEL_EXPORTER_OTLP_ENDPOINT" then
      return given
    elseif given ~= "environment" and name == "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" then
      return nil
    end
    return os.getenv(name)
  end)
  if settings then
    settings.http_module = options.http_module
  end
  return settings
end

---@param options { log: string?, traces: string?, http_module: string? }
---@param shown table|nil  the host's own watcher
---@return table[]|nil watchers
---@return string? message
function M.new(options, shown)
  local list, stop = { shown }, nil
  if options.log then
    local log, message = require("skillrt.report.json_log").new(options.log, function() end)
    if not log then
      return nil, "log: " .. message
    end
    list[#list + 1] = log
  end
  local settings = options.traces and settings_of(options)
  local traces = settings and require("skillrt.report.traces").new(settings, true)
  if not traces then
    return list
  end
  list[#list + 1] = { observe = function(record, books)
    stop = record.t == "stop" and not record.sub and record or stop
    traces.observe(record, books)
  end, flush = function()
    traces.flush()
    if stop then
      local last = stop
      stop = nil
      traces.ended(last)
    end
  end, forget = function()
    stop = nil
    traces.forget()
  end }
  return list
end

return M
