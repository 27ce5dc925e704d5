-- document/check/reach/relaxation.lua: what can be true at all, whatever the order: values once had count as had.
--
-- An action that cannot run here cannot run in any sequence, however large the space: the proof takes time linear in
-- conditions and effects. Called by check/reach.lua.
local truth = require "skillrt.document.check.reach.truth"

local M = {}

---@class skillrt.check.Relaxed
---@field space skillrt.check.Space
---@field had table<string, integer[]>  by variable: the classes it may have had
---@field runs boolean[]                by step
local Relaxed = {}
Relaxed.__index = Relaxed

function Relaxed:holds(term, reading)
  local variables = self.space.variables
  return truth.holds(term, variables, reading, function(name)
    local variable = variables[name]
    return variable.place and self.had[name] or reading ~= "first" and variable.after or { variable.init }
  end)
end

-- Whether an action might run: all its terms, each on its own.
function Relaxed:can_run(step, reading)
  for _, term in ipairs(step.terms) do
    if not self:holds(term, reading) then
      return false
    end
  end
  return true
end

local function contains(list, value)
  for _, one in ipairs(list) do
    if one == value then
      return true
    end
  end
  return false
end

-- Adds what a step makes of the variables; wake(name) for each that may be more than before.
function Relaxed:apply(step, wake)
  for _, change in ipairs(step.changes) do
    local had, grown = self.had[change.variable.name], false
    for i = 1, #had do
      for _, target in ipairs(change.targets[had[i]]) do
        if not contains(had, target) then
          had[#had + 1], grown = target, true
        end
      end
    end
    if grown then
      wake(change.variable.name)
    end
  end
end

-- The steps to look at again when a variable may be more: what it makes of it depends on what it was.
local function readers_of(space)
  local readers = {}
  local function add(name, i)
    readers[name] = readers[name] or {}
    table.insert(readers[name], i)
  end
  for i, step in ipairs(space.steps) do
    for _, term in ipairs(step.terms) do
      for _, name in ipairs(term.vars) do
        add(name, i)
      end
    end
    for _, change in ipairs(step.changes) do
      add(change.variable.name, i)
    end
  end
  return readers
end

---@param space skillrt.check.Space
---@return skillrt.check.Relaxed
function M.run(space)
  local self = setmetatable({ space = space, had = {}, runs = {} }, Relaxed)
  for name, variable in pairs(space.variables) do
    self.had[name] = { variable.init }
  end
  local readers, waiting, queue = readers_of(space), {}, {}
  local function put(i)
    if not waiting[i] then
      waiting[i] = true
      queue[#queue + 1] = i
    end
  end
  local started = false
  local function start()
    if not started then
      started = true
      for i = 1, #space.steps do
        put(i)
      end
    end
  end
  for _, phase in ipairs(space.phases) do
    if not phase.action.trailing then
      started = true
      self:apply(phase, function() end)
    end
  end
  for i = 1, #space.steps do
    put(i)
  end
  local at = 1
  while at <= #queue do
    local i = queue[at]
    at, waiting[i] = at + 1, nil
    local step = space.steps[i]
    if self.runs[i] or self:can_run(step, "first") or (started and self:can_run(step, "may")) then
      self.runs[i] = true
      if not step.action.terminal then
        start()
      end
      self:apply(step, function(name)
        for _, reader in ipairs(readers[name] or {}) do
          put(reader)
        end
      end)
    end
  end
  return self
end

---The terms of an action that nothing makes true.
---@param step skillrt.check.Step
---@return skillrt.check.Term[]
function Relaxed:unmade(step)
  local out = {}
  for _, term in ipairs(step.terms) do
    out[#out + 1] = not self:holds(term, "may") and not self:holds(term, "first") and term or nil
  end
  return out
end

return M
