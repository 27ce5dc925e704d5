-- skill/phase.lua: what each phase takes in from those before it (R10, F6, F21), parallel groups
-- taken as one.
--
-- Knows nothing of files or runs. Called by skill.lua once all phases have their normal form.

local names = require("skillrt.base.names")

local M = {}

-- What is made before phase `i` starts: outputs of all phases before its parallel group, and
-- the outputs of the phase or group just before it.
local function made_before(phases, i)
  local start = i
  if phases[i].parallel then
    while start > 1 and phases[start - 1].parallel do
      start = start - 1
    end
  end
  local made, last = {}, {}
  for k = 1, start - 1 do
    made[phases[k].output] = phases[k].id
  end
  local k = start - 1
  while k >= 1 do
    table.insert(last, 1, phases[k].output)
    if not (phases[k].parallel and k > 1 and phases[k - 1].parallel) then
      break
    end
    k = k - 1
  end
  return made, last, start
end

local function check_input(name, phase, made, where)
  if name == "user input" and phase.index == 1 then
    return nil
  end
  local path, problem = names.confined(name)
  if not path then
    return nil, ('%s: field "input" %s'):format(where, problem)
  elseif not made[path] then
    local hint = next(made) == nil and "; no phase runs before this one" or names.suggest(path, made)
    return nil, ('%s: input "%s" is made by no earlier phase%s'):format(where, path, hint)
  end
  return path
end

---Gives every phase its inputs: those it names, else what the phase or parallel group before
---it makes (R10, F6). Refuses inputs that no earlier phase makes, and one output made twice at
---the same time.
---@param phases skillrt.Action[]
---@param where string
---@return boolean? ok
---@return string? message
function M.link(phases, where)
  for i, phase in ipairs(phases) do
    local at = ('%s: phase "%s"'):format(where, phase.id)
    local made, last, start = made_before(phases, i)
    for k = start, i - 1 do
      if phases[k].output == phase.output then
        local problem = '%s: output "%s" is also written by phase "%s", at the same time; give it another name'
        return nil, problem:format(at, phase.output, phases[k].id)
      end
    end
    local declared = phase.input
    phase.input, phase.input_declared = declared and {} or last, declared ~= nil
    for _, name in ipairs(declared or {}) do
      local path, message = check_input(name, phase, made, at)
      if message then
        return nil, message
      end
      phase.input[#phase.input + 1] = path
    end
  end
  return true
end

return M
