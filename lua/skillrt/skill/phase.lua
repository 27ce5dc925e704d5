-- skill/phase.lua: which phases run at the same time, and which outputs of earlier ones each reads (R10, F6, F21).
--
-- Knows nothing of files or runs. Called by skill/init.lua, once all phases have their normal form, by the sequential
-- mode and by the graph.

local names = require("skillrt.base.names")

local M = {}

---Phases in groups that run at once: parallel neighbours form one, any other phase is alone.
---@param phases skillrt.Action[]
---@return skillrt.Action[][]
function M.groups(phases)
  local groups = {}
  for _, phase in ipairs(phases) do
    local last = groups[#groups]
    if phase.parallel and last and last[1].parallel then
      last[#last + 1] = phase
    else
      groups[#groups + 1] = { phase }
    end
  end
  return groups
end

local function check_input(name, phase, made)
  if name == "user input" and phase.index == 1 then
    return nil
  end
  local path, problem = names.confined(name)
  if not path then
    return nil, (': field "input" %s'):format(problem)
  elseif not made[path] then
    local hint = next(made) == nil and "; no phase runs before this one" or names.suggest(path, made)
    return nil, (': input "%s" is made by no earlier phase%s'):format(path, hint)
  end
  return path
end

-- Links one phase of a group; `now`: the outputs of the others. Returns what is wrong, to follow the phase's name.
local function link_one(phase, made, before, now)
  local other = now[phase.output]
  if other then
    local problem = ': output "%s" is also written by phase "%s", at the same time; give it another name'
    return problem:format(phase.output, other)
  end
  now[phase.output] = phase.id
  local declared = phase.input
  phase.input, phase.input_declared = declared and {} or before, declared ~= nil -- one list for all of a group
  for _, name in ipairs(declared or {}) do
    local path, message = check_input(name, phase, made)
    if message then
      return message
    end
    phase.input[#phase.input + 1] = path
  end
end

---Gives every phase its inputs: those it names, else the output of the previous phase or parallel group (R10, F6).
---Refuses inputs that no earlier phase gives, and one output given twice at the same time.
---@param phases skillrt.Action[]
---@param where string
---@return boolean? ok
---@return string? message
function M.link(phases, where)
  local made, before = {}, {} -- the outputs up to this group, and those of the previous group
  for _, group in ipairs(M.groups(phases)) do
    local now = {}
    for _, phase in ipairs(group) do
      local message = link_one(phase, made, before, now)
      if message then
        return nil, ('%s: phase "%s"%s'):format(where, phase.id, message)
      end
    end
    before = {}
    for _, phase in ipairs(group) do
      made[phase.output], before[#before + 1] = phase.id, phase.output
    end
  end
  return true
end

return M
