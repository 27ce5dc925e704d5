-- document/check/inputs.lua: inputs that may be missing when a phase's turn comes, and outputs that two phases write.
--
-- Inputs that no phase makes are refused earlier. Called by document/check/init.lua.
local when = require "skillrt.skill.when"

local M = {}

local function text_of(phase)
  local parts = {}
  for i, condition in ipairs(phase.when) do
    parts[i] = when.text(condition)
  end
  return table.concat(parts, " && ")
end

---@param model skillrt.check.Model
---@param found skillrt.Findings
function M.check(model, found)
  local maker = {}
  for _, phase in ipairs(model.phases) do
    for _, name in ipairs(phase.input_declared and phase.input or {}) do
      local other = maker[name]
      if other and #other.when > 0 and text_of(other) ~= text_of(phase) then
        found:add("input.skippable", phase.place(),
          ('phase "%s" needs %s, which "%s" makes only when `%s`'):format(phase.id, name, other.id, text_of(other)))
      end
    end
    local other = maker[phase.output]
    if other then
      found:add("output.twice", phase.place(),
        ('phases "%s" and "%s" both write %s'):format(other.id, phase.id, phase.output))
    end
    maker[phase.output] = phase
  end
end

return M
