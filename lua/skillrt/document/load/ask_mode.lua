-- document/load/ask_mode.lua: a skill whose phases run by mode asks for it where a run was given none and no document
-- names a default: a phase of its own, before all others.
--
-- Called by load.
local json = require "skillrt.base.json"

local M = {}

local ID <const> = "choose-mode"

---Adds the phase that asks, and lets its answer count as the mode that is given.
---@param definition table  what skillrt.skill takes
---@param modes string[]
function M.add(definition, modes)
  for i, phase in ipairs(definition.phases) do
    if type(phase.when) == "string" then
      phase.when = phase.when:gsub("input%.mode === ('[^']*')", function(mode)
        return ("(input.mode === %s || outputs['%s'] === %s)"):format(mode, ID, mode)
      end)
    end
    local opening = i == 1 or phase.parallel and definition.phases[i - 1].parallel and definition.phases[i - 1].opens
    phase.opens = opening or nil
    phase.input = phase.input or opening and json.array {} or nil -- nothing is made before the first phases
  end
  for _, phase in ipairs(definition.phases) do
    phase.opens = nil
  end
  table.insert(definition.phases, 1, {
    id = ID, name = "Mode", when = "!input.mode",
    run = function(_, ctx)
      return ctx.ask { header = "Mode", question = ("Which mode? (--set mode=%s says it at once)"):format(modes[1]),
        options = modes }
    end,
  })
end

return M
