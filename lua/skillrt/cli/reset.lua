-- cli/reset.lua: `skillrt run --reset`: the run that is in a work directory is kept beside it, under its own id, so
-- that a new one begins there (R144).
--
-- Refuses while a process advances it. Called by cli/command/run.lua.

local store_of = require("skillrt.run.store")

local M = {}

---@param dir string|nil  the work directory
---@return string|true|nil kept  where the run is now; true: there was none
---@return string? message
---@return string? code
function M.aside(dir)
  if not dir then
    return nil, "--reset: keeps the run of a work directory; name it by --work-dir DIR", "usage"
  end
  local store = store_of.at(dir)
  if not store:exists() then
    return true
  end
  local first, message, code = require("skillrt.run.runner").first(dir)
  if not first then
    return nil, message, code
  end
  local holder = store:holder()
  if holder then
    return nil, ("%s: process %d on %s advances this run; stop it first"):format(dir, holder.pid or 0, holder.host),
      "busy"
  end
  return store:put_aside(first.run)
end

return M
