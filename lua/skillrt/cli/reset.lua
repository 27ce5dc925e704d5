-- cli/reset.lua: `skillrt run --reset`: the run that is in a work directory is kept beside it, under its own id, so
-- that a new one begins there (R144).
--
-- Refuses while a process advances it. Called by cli/command/run.lua.

local core = require("skillrt.core")
local files = require("skillrt.base.files")

local M = {}

---@param dir string|nil  the work directory
---@return string|true|nil kept  where the run is now; true: there was none
---@return string? message
---@return string? code
function M.aside(dir)
  if not dir then
    return nil, "--reset: keeps the run of a work directory; name it by --work-dir DIR", "usage"
  elseif not core.files.stat(files.join(dir, "journal")) then
    return true
  end
  local first, message, code = require("skillrt.run.runner").first(dir)
  if not first then
    return nil, message, code
  end
  local pid, host = core.holder(dir)
  if pid then
    return nil, ("%s: process %s on %s advances this run; stop it first"):format(dir, pid, host), "busy"
  end
  local kept = ("%s.%s"):format((dir:gsub("(.)/+$", "%1")), first.run)
  if core.files.stat(kept) then
    return nil, kept .. ": is there already; move it away", "exists"
  end
  local ok
  ok, message, code = core.files.rename(dir, kept)
  if not ok then
    return nil, message, code
  end
  return kept
end

return M
