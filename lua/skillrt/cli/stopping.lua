-- cli/stopping.lua: asks the process that advances a run to stop. Called by the commands stop and mcp.

local core = require("skillrt.core")

local M = {}

---Sends SIGTERM to the process that advances a run; the run can be resumed.
---@param holder { pid: integer?, host: string }|nil  of Store:holder
---@return true|nil ok
---@return string? message
---@return string? code
function M.ask(holder)
  if not holder then
    return nil, "no process advances it", "missing"
  elseif holder.host ~= require("skillrt.run.store").host() or not holder.pid then
    return nil, ("process %s on %s advances it; stop it on that machine"):format(holder.pid, holder.host),
      "busy"
  elseif not core.serve.terminate(holder.pid) then
    return nil, ("process %d advances it, and cannot be signalled; stop it by hand"):format(holder.pid), "busy"
  end
  return true
end

return M
