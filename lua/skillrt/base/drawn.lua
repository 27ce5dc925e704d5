-- base/drawn.lua: what a script is given of the world, wherever it asks: in a step it is recorded with the
-- step, while it is loaded with the run, and returned again when the run is resumed.
--
-- Knows who asks (`step`, `loading`) and nothing of either: run/branch/draws.lua keeps what a step draws, base/
-- environment.lua what a script draws while it is loaded.

local M = {}

---The step whose function runs now; set around each stretch of it.
---@type table|nil
M.step = nil

---What a step draws: set by who keeps it.
---@type fun(step: table, kind: string, make: fun(): any): any
M.recorded = nil

---The generators of a step's random numbers by place, and the place where it is now.
---@type fun(step: table): table<string, table>, string
M.chances = nil

---The script that is being loaded.
---@type skillrt.Loaded|nil
M.loading = nil

---A value of the world.
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
