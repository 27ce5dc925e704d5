-- run/books/subs.lua: the books of sub-runs: each is a scope with a state, ends and outputs of its own, while
-- the steps of all scopes are numbered through and stand in one table (docs/steps.md, "Sub-runs").
--
-- Part of books.lua, which alone calls it, and of snapshot.lua. Knows no skills and no journal.

local M = {}

-- The sub-run that a call waits for.
local function of_call(self, record)
  local step = self.steps[record.step]
  local call = step and step.calls[record.c]
  return call and call.sub
end

-- A sub-run begins.
local function begin(self, record, books)
  books.steps, books.sub, books.parent = self.steps, record.sub, record.step
  self.subs = self.subs or {}
  self.subs[record.sub] = books
  return books
end

---The books that a record changes: of the scope that it or its step names, else the run's own.
---@param self skillrt.Books  the run's
---@param record table
---@param new fun(): skillrt.Books
---@return skillrt.Books scope
---@return string|nil ended  the sub-run whose call is over by it
function M.enter(self, record, new)
  local id, kind = record.sub, record.t
  if kind == "run" then
    return begin(self, record, new())
  elseif kind == "call" then -- what it names begins with the next record
    return self
  end
  if not id and record.step then
    local step = self.steps[record.step]
    id = step and step.sub
  end
  local scope = self
  if id then
    scope = self.subs and self.subs[id] or error(("record of a sub-run that has not begun: %q"):format(id), 0)
  end
  return scope, kind == "result" and of_call(self, record) or nil
end

-- Forgets a sub-run, and those that its open steps wait for.
local function forget(self, id)
  local books = self.subs[id]
  if not books then
    return
  end
  self.subs[id] = nil
  for _, newest in pairs(books.newest) do
    local step = newest
    while step do
      self.steps[step.number] = nil
      for _, call in pairs(step.calls) do
        if call.sub then
          forget(self, call.sub)
        end
      end
      step = step.before
    end
  end
end

-- What nobody waits for any more, after calls were dropped.
local function sweep(self)
  local waited = {}
  for _, step in pairs(self.steps) do
    for _, call in pairs(step.calls) do
      waited[call.sub or ""] = true
    end
  end
  local gone = {}
  for id in pairs(self.subs) do
    gone[#gone + 1] = not waited[id] and id or nil
  end
  for _, id in ipairs(gone) do
    forget(self, id)
  end
end

---Where a step stands among all: texts that sort each below the step whose call runs its scope.
---@param steps table<integer, table>  by number, each with `sub`
---@param number integer
---@return string path   twelve digits and a dot for each
---@return integer depth  0: the run's own
function M.path(steps, number)
  local path, depth = ("%012d."):format(number), 0
  local sub = steps[number] and steps[number].sub
  while sub and depth < 64 do
    local parent = math.tointeger(tonumber(sub:match("^%d+")))
    path, depth = ("%012d.%s"):format(parent, path), depth + 1
    sub = steps[parent] and steps[parent].sub
  end
  return path, depth
end

local DROPS <const> = { drop = true, fail = true, skip = true, rewind = true, retry = true }

---What a record changes beside its own scope.
---@param self skillrt.Books
---@param scope skillrt.Books
---@param record table
---@param ended string|nil  the sub-run whose call is over by it
function M.after(self, scope, record, ended)
  local kind = record.t
  scope.at = record.at or scope.at
  if kind == "start" then
    self.last_step = math.max(self.last_step, record.step)
    if scope ~= self then
      self.steps[record.step].sub = scope.sub
    end
  elseif kind == "result" then
    local step = self.steps[record.step]
    local known = step.known[record.c]
    if ended then
      known.acted = self.subs[ended] and self.subs[ended].acted
      forget(self, ended)
    end
    if known.acted and step.sub then
      scope.acted = true
    end
  elseif DROPS[kind] then
    sweep(self)
  end
  if self.subs and next(self.subs) == nil then
    self.subs = nil
  end
end

return M
