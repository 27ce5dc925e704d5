-- base/drawn.lua: the values that a script takes from the outside world (time, random numbers). They are recorded
-- with the step, or with the run while the script is loaded, and given back when the run is resumed.
--
-- Knows who asks (`step`, `loading`) and nothing else of either: run/branch/draws.lua keeps what a step draws,
-- base/environment.lua what a script draws while it is loaded.

local M = {}

---The step whose function runs now.
---@type table|nil
M.step = nil

---Draws for a step; set by the module that records it.
---@type fun(step: table, kind: string, make: fun(): any): any
M.recorded = nil

---The generators of a step's random numbers by place, and the place where it is now.
---@type fun(step: table): table<string, table>, string
M.chances = nil

---The script that is being loaded.
---@type skillrt.Loaded|nil
M.loading = nil

---A value from the outside world.
---@param kind string   one letter: each kind is counted by itself
---@param make fun(): any
---@return any
function M.value(kind, make)
  local step, loading = M.step, M.loading
  if loading then
    return loading:value(kind, make)
  elseif step then
    return M.recorded(step, kind, make)
  end
  return make()
end

return M
