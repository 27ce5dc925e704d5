-- skill/plan_estimate.lua: what a goal still costs from a state, about: each part of it by the cheapest action that
-- makes it hold, as if nothing undid anything.
--
-- Pure. Part of planner.lua, which alone calls it.

local foresee = require("skillrt.skill.foresee")
local json = require("skillrt.base.json")

local M = {}

local REPEATED <const> = 64 -- how often one action may count towards one part of a condition

---The actions that a part of a condition names.
function M.named(leaf, by_id)
  local found = {}
  for id in (leaf.text or ""):gmatch("['\"]([^'\"]+)['\"]") do
    found[id] = by_id[id]
  end
  return found
end

---The effects of an action on a state that is laid out; `undo` takes what is to be put back.
function M.apply(now, one, undo)
  for _, effect in ipairs(one.effects) do
    if undo[effect.key] == nil then
      undo[effect.key] = now[effect.key] == nil and json.null or now[effect.key]
    end
    foresee.apply(now, effect)
  end
end

function M.put_back(now, undo)
  for key, value in pairs(undo) do
    now[key] = value ~= json.null and value or nil
    if value == false then
      now[key] = false
    end
  end
end

local sum_of

-- How often an action has to run, with nothing else, until a leaf holds; nil: it does not help alone.
local function runs_until(search, leaf, one)
  if leaf.sure[one] then
    return 1
  end
  local undo, count = {}, nil
  local repeats = false
  for _, effect in ipairs(one.effects) do
    repeats = repeats or effect.step ~= nil
  end
  for i = 1, repeats and math.min(one.most, REPEATED) or 1 do
    M.apply(search.now, one, undo)
    search.asked = search.asked + 1
    if leaf.holds(search.now) then
      count = i
      break
    end
  end
  M.put_back(search.now, undo)
  if not count and leaf.reads and leaf.reads.completed_actions and M.named(leaf, search.by_id)[one.id] then
    return 1
  end
  return count
end

local function of_leaf(search, leaf)
  search.asked = search.asked + 1
  if leaf.holds(search.now) then
    return 0
  elseif search.memo[leaf.memo] then
    return search.memo[leaf.memo]
  elseif search.open[leaf.memo] or search.asked > search.most_asked then
    return search.open[leaf.memo] and math.huge or 0
  end
  search.open[leaf.memo] = true
  local best = math.huge
  for _, one in ipairs(leaf.helpers or {}) do
    local used = (search.node.ran[one.id] or 0) + search.runs(one.id)
    if used < one.most and one.cost < best then
      local count = runs_until(search, leaf, one)
      local cost = (count or 2) * one.cost + sum_of(search, one.needs)
      best = math.min(best, cost)
    end
  end
  search.open[leaf.memo] = nil
  if best < math.huge then
    search.memo[leaf.memo] = best
  end
  return best
end

function sum_of(search, formula)
  if formula.all then
    local sum = 0
    for _, one in ipairs(formula.all) do
      sum = sum + sum_of(search, one)
    end
    return sum
  elseif formula.any then
    local least = math.huge
    for _, one in ipairs(formula.any) do
      least = math.min(least, sum_of(search, one))
    end
    return least
  end
  return of_leaf(search, formula)
end

---What the goal still costs from a state that is laid out, about.
---@param search table
---@param node table
---@param goal skillrt.Formula
---@return number
function M.rest(search, node, goal)
  search.memo, search.open, search.node = {}, {}, node
  return sum_of(search, goal)
end

return M
