-- run/kept.lua: values that a step keeps in the journal beside the results of its calls: what it drew, what
-- a local function gave, rounds of loops.
--
-- Knows the journal and what branches.lua says of a step. Used by steps.lua.

local branches = require("skillrt.run.branches")

local M = {}

---A record of a step, with what its function drew since the last one.
---@param step skillrt.Step
---@param entry table
---@return table entry
function M.with_fresh(step, entry)
  if step.fresh then
    entry.rec, step.fresh = step.fresh, nil
  end
  return entry
end

---A round of a loop is over.
---@param journal skillrt.Journal
---@param execution skillrt.Execution
function M.round(journal, execution, place, number, value, last)
  local step = execution.step
  local round = { t = "round", step = step.number, c = place, n = number, value = value, last = last }
  local entry = M.with_fresh(step, round)
  local ok, message = journal:emit(entry)
  if not ok then
    error(("ctx.loop: round %d cannot be kept: %s"):format(number, message), 0)
  end
  execution.delivered = 0 -- the list of places is shorter now
end

---What a local function gives, kept under its place.
---@param journal skillrt.Journal
---@param execution skillrt.Execution
---@param branch skillrt.Branch
---@param name string
---@param fn fun(): any
---@return any value
---@return string? message
---@return string? class
function M.once(journal, execution, branch, name, fn)
  local step, place = execution.step, execution:place(branch)
  local known = step.known[place]
  if known then
    if known.digest ~= "once " .. name then
      execution:diverge(place, known.to or known.digest, "once " .. name)
      return coroutine.yield(branches.WAIT)
    end
    execution.taken[place] = true
    return journal:reread(known).value
  end
  branch.in_once = name
  local _ <close> = setmetatable({}, { __close = function() branch.in_once = nil end }) -- fn may raise
  local value, message, class = fn()
  if value == nil and type(message) == "string" then
    return nil, message, class
  end
  local entry = { t = "result", step = step.number, c = place, digest = "once " .. name, value = value }
  local ok, problem = journal:emit(M.with_fresh(step, entry))
  if not ok then
    error(("ctx.once: %s: its value cannot be kept: %s"):format(name, problem), 0)
  end
  execution.taken[place] = true
  return value
end

return M
