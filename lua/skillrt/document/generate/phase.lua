-- document/generate/phase.lua: phases/<id>.md, one for each phase (R9-R10, R19-R26). Pure. Called by generate.
local view = require "skillrt.document.generate.view"

local M = {}

---@param shared table
---@param phase table the phase's view
---@return table
function M.data(shared, phase)
  local own = { up = "../" }
  for key, value in pairs(phase) do
    own[key] = value
  end
  return view.with(shared, own)
end

return M
