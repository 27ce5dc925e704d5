-- document/graph/path.lua: the way that a run of a machine took, from its journal.
--
-- Takes no lock. Called by graph/init.lua.
local machine = require "skillrt.document.graph.machine"
local runner = require "skillrt.run.runner"

local M = {}

---@param dir string  a run
---@return skillrt.graph.Path? path
---@return string? message
---@return string? code
function M.of(dir)
  local path, subs = { taken = {} }, {}
  local books, message, code = runner.read(dir, function(record)
    local move = record.move
    if record.t == "start" then
      subs[record.step] = record.sub -- a machine of its own
    end
    if move and move.from and move.to and not (record.step and subs[record.step]) then
      local key = machine.key(move.from, move.to, tostring(move.action))
      path.taken[key] = (path.taken[key] or 0) + 1
    end
  end)
  if not books then
    return nil, message, code
  elseif books.mode ~= "machine" then
    return nil, dir .. ": is no run of machine mode; only of these a path is drawn", "invalid"
  end
  path.at = books.state.root.state
  return path
end

return M
