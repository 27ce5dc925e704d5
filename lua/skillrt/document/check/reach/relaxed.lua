-- document/check/reach/relaxed.lua: what can be true at all, whatever the order: values once had count as had.
--
-- An action that cannot run here cannot run in any sequence, however large the space: the proof
-- takes time linear in conditions and effects. Called by check/reach.lua.
local guard = require "skillrt.document.check.reach.guard"

local M = {}

---@class skillrt.check.Relaxed
---@field possible table<string, integer>   variable -> the classes it may have, as bits
---@field runs boolean[]                    by step

local function satisfiable(alternatives, possible)
  for _, constraints in ipairs(alternatives) do
    local fits = true
    for _, one in ipairs(constraints) do
      fits = fits and possible[one.name] & one.bits ~= 0
    end
    if fits then
      return true
    end
  end
  return false
end

-- Whether the action might run: all its terms, each on its own.
local function can_run(self, step, mode)
  for _, term in ipairs(step.terms) do
    if not satisfiable(guard.term(term, self.space.variables, mode), self.possible) then
      return false, term
    end
  end
  return true
end

local function apply(self, step, wake)
  for _, update in ipairs(step.updates) do
    local name = update.place.name
    local before = self.possible[name]
    local after = before
    for class = 1, #update.place.variable.classes do
      if before & 1 << (class - 1) ~= 0 then
        after = after | update.targets[class]
      end
    end
    if after ~= before then
      self.possible[name] = after
      wake(name)
    end
  end
end

local function readers_of(space)
  local readers = {}
  for i, step in ipairs(space.steps) do
    for _, term in ipairs(step.terms) do
      for _, name in ipairs(term.vars) do
        readers[name] = readers[name] or {}
        table.insert(readers[name], i)
      end
    end
    for _, update in ipairs(step.updates) do
      readers[update.place.name] = readers[update.place.name] or {}
      table.insert(readers[update.place.name], i) -- what it makes of it depends on what it was
    end
  end
  return readers
end

---@param space skillrt.check.Space
---@return skillrt.check.Relaxed
function M.run(space)
  local self = { space = space, possible = {}, runs = {} }
  for name, variable in pairs(space.variables) do
    self.possible[name] = 1 << (variable.init - 1)
  end
  local readers, waiting, queue = readers_of(space), {}, {}
  local function put(i)
    if not waiting[i] then
      waiting[i] = true
      queue[#queue + 1] = i
    end
  end
  local function wake(name)
    for _, i in ipairs(readers[name] or {}) do
      put(i)
    end
  end
  local started = false
  for _, phase in ipairs(space.phases) do
    if not phase.action.trailing then
      started = true
      apply(self, phase, function() end)
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
    if self.runs[i] or can_run(self, step, "first") or (started and can_run(self, step, "may")) then
      self.runs[i] = true
      if not started and not step.action.terminal then
        started = true
        for k = 1, #space.steps do
          put(k)
        end
      end
      apply(self, step, wake)
    end
  end
  return self
end

---The terms of an action that nothing makes true.
---@param self skillrt.check.Relaxed
---@param step skillrt.check.Step
---@return skillrt.check.Term[]
function M.unmade(self, step)
  local out = {}
  for _, term in ipairs(step.terms) do
    if
      not satisfiable(guard.term(term, self.space.variables, "may"), self.possible)
      and not satisfiable(guard.term(term, self.space.variables, "first"), self.possible)
    then
      out[#out + 1] = term
    end
  end
  return out
end

return M
