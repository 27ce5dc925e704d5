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
  local word, phases, i = modes.word, definition.phases, 1
  local id, header = "choose-" .. word, word:gsub("^%l", string.upper)
  for _, phase in ipairs(phases) do
    if type(phase.when) == "string" then
      phase.when = phase.when:gsub("input%." .. word .. " === ('[^']*')", function(name)
        return ("(input.%s === %s || outputs['%s'] === %s)"):format(word, name, id, name)
      end)
    end
  end
  repeat
    phases[i].input, i = phases[i].input or json.array {}, i + 1 -- nothing is made before the first phases
  until not (phases[i] and phases[i].parallel and phases[i - 1].parallel)
  local question = modes.question or "Which mode?"
  local options = table.move(modes, 1, #modes, 1, {})
  table.insert(phases, 1, {
    id = id, name = header, when = "!input." .. word,
    run = function(_, ctx)
      return ctx.ask { header = header, options = options,
        question = ("%s (--set %s=%s says it at once)"):format(question, word, modes[1]) }
    end,
  })
end

return M
