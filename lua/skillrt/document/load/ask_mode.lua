-- document/load/ask_mode.lua: a skill whose phases run by mode asks for it where a run was given none and no document
-- names a default: a phase of its own, before all others.
--
-- Called by load.
local json = require "skillrt.base.json"

local M = {}


---Adds the phase that asks, and lets its answer count as the mode that is given.
---@param definition table  what skillrt.skill takes
---@param modes { word: string, question: string?, [integer]: string }
function M.add(definition, modes)
  local word = modes.word
  local id = "choose-" .. word
  for i, phase in ipairs(definition.phases) do
    if type(phase.when) == "string" then
      phase.when = phase.when:gsub("input%." .. word .. " === ('[^']*')", function(name)
        return ("(input.%s === %s || outputs['%s'] === %s)"):format(word, name, id, name)
      end)
    end
    local opening = i == 1 or phase.parallel and definition.phases[i - 1].parallel and definition.phases[i - 1].opens
    phase.opens = opening or nil
    phase.input = phase.input or opening and json.array {} or nil -- nothing is made before the first phases
  end
  for _, phase in ipairs(definition.phases) do
    phase.opens = nil
  end
  local question = modes.question or "Which mode?"
  local options = table.move(modes, 1, #modes, 1, {})
  table.insert(definition.phases, 1, {
    id = id, name = word:sub(1, 1):upper() .. word:sub(2), when = "!input." .. word,
    run = function(_, ctx)
      return ctx.ask { header = word:sub(1, 1):upper() .. word:sub(2), options = options,
        question = ("%s (--set %s=%s says it at once)"):format(question, word, modes[1]) }
    end,
  })
end

return M
