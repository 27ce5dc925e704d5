-- run/books/subs.lua: the books of sub-runs: each is a scope with its own state, ends and outputs, while the steps of
-- all scopes share one numbering and one table (docs/write/steps.md, "Sub-runs").
--
-- Knows no skills and no journal. Called by the record types that start or end them, and by report/.

local fields = require("skillrt.run.books.fields")
local repeats = require("skillrt.mode.repeats")

local M = {}

---A sub-run starts.
---@param whole skillrt.Books  the run's
---@param record table  `run`
---@return skillrt.Books
function M.begin(whole, record)
  local books = fields.new()
  books.steps, books.sub, books.parent = whole.steps, record.sub, record.step
  whole.subs = whole.subs or {}
  whole.subs[record.sub] = books
  return books
end

---Whether something in a sub-run may have acted: what has ended, or a call that is open, also in its own sub-runs.
---@param whole skillrt.Books
---@param id string
---@return boolean
function M.acted(whole, id)
  local books = whole.subs[id]
  for _, newest in pairs(books and books.newest or {}) do
    local step = newest
    while step do
      for _, call in pairs(step.calls) do
        if repeats.acted(call) or call.sub and M.acted(whole, call.sub) then
          return true
        end
      end
      step = step.before
    end
  end
  return books ~= nil and books.acted == true
end

local forget

-- Forgets the failed sub-runs that a step could have resumed.
local function forget_failed(whole, step)
  for _, known in pairs(step.known or {}) do
    if known.scope then
      forget(whole, known.scope.sub)
    end
  end
end

-- Forgets a sub-run, and those that its steps wait for or could have resumed.
function forget(whole, id)
  local books = whole.subs[id]
  if not books then
    return
  end
  whole.subs[id] = nil
  for _, held in pairs(books.held or {}) do
    forget_failed(whole, held)
  end
  for _, newest in pairs(books.newest) do
    local step = newest
    while step do
      whole.steps[step.number] = nil
      for _, call in pairs(step.calls) do
        if call.sub then
          forget(whole, call.sub)
        end
      end
      forget_failed(whole, step)
      step = step.before
    end
  end
end

---The call of a sub-run has finished.
---@param whole skillrt.Books
---@param id string
function M.forget(whole, id)
  forget(whole, id)
  if next(whole.subs) == nil then
    whole.subs = nil
  end
end

---A step has completed: it resumes no failed sub-run.
---@param whole skillrt.Books
---@param step skillrt.Step
function M.forget_failed(whole, step)
  forget_failed(whole, step)
  if next(whole.subs) == nil then
    whole.subs = nil
  end
end

---After steps or calls were dropped, forgets sub-runs that no step waits for or may resume.
---@param whole skillrt.Books
function M.sweep(whole)
  if not whole.subs then
    return
  end
  local waited = {}
  local function keep(steps)
    for _, step in pairs(steps or {}) do
      for _, call in pairs(step.calls or {}) do
        waited[call.sub or ""] = true
      end
      for _, known in pairs(step.known or {}) do
        if known.scope and not waited[known.scope.sub] then
          waited[known.scope.sub] = true
          keep(whole.subs[known.scope.sub].held)
        end
      end
    end
  end
  keep(whole.steps)
  keep(whole.held)
  for id, scope in pairs(whole.subs) do
    keep(waited[id] and scope.held)
  end
  local gone = {}
  for id in pairs(whole.subs) do
    gone[#gone + 1] = not waited[id] and id or nil
  end
  for _, id in ipairs(gone) do
    forget(whole, id)
  end
  if next(whole.subs) == nil then
    whole.subs = nil
  end
end

---The position of a step among all: texts that sort each step below the step whose call runs its scope.
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

return M
