-- document/check/reach/rounds.lua: runs that go round without end: states from which no end can be reached.
--
-- Works out again what follows a state instead of having kept it. Knows a search that is over.
-- Called by check/reach.lua.
local search = require "skillrt.document.check.reach.search"

local M = {}

-- Whether every step uses up one of its runs: then every sequence ends.
local function all_bounded(space)
  for _, step in ipairs(space.steps) do
    if #step.extra == 0 and not step.action.terminal then
      return false
    end
  end
  return true
end

-- Whether a state leads to a good one, or to one that was not looked at; else what it leads to.
local function leads_on(result, at, good, to)
  local edges = 0
  for _, i in ipairs(search.open(result, at)) do
    for _, known in ipairs(search.following(result, i)) do
      if known == 0 or known > result.looked or good[known] then
        return true
      end
      edges = edges + 1
      to[edges] = known
    end
  end
  return false, edges
end

-- States that wait for another one to be good.
local function new_waiting()
  return { heads = {}, from = {}, following = {}, count = 0 }
end

local function wait(waiting, from, to)
  local edge = waiting.count + 1
  waiting.count = edge
  waiting.from[edge], waiting.following[edge], waiting.heads[to] = from, waiting.heads[to] or 0, edge
end

local function wake(waiting, at, good)
  good[at] = true
  if not waiting.heads[at] then
    return
  end
  local stack = { at }
  while #stack > 0 do
    local edge = waiting.heads[table.remove(stack)] or 0
    while edge > 0 do
      local from = waiting.from[edge]
      if not good[from] then
        good[from] = true
        stack[#stack + 1] = from
      end
      edge = waiting.following[edge]
    end
  end
end

-- What is good at once: ends, and what leads to states that were not looked at.
local function good_ones(result)
  local good = {}
  for _, list in ipairs { result.halts, result.leads_beyond } do
    for at in pairs(list) do
      good[at] = true
    end
  end
  for at = result.looked + 1, #result.states do
    good[at] = true
  end
  return good
end

---The first state from which no end, and no state that was not looked at, can be reached. Backwards:
---a good state makes the one good that it was found from, so that little has to be worked out again.
---Nil also where too much would wait.
---@param result skillrt.check.Search
---@return integer?
function M.stuck(result)
  if all_bounded(result.space) then
    return nil
  end
  local good, waiting, to = good_ones(result), new_waiting(), {}
  for at = #result.states, 1, -1 do
    local on, count = good[at], 0
    if not on then
      on, count = leads_on(result, at, good, to)
    end
    if on then
      wake(waiting, at, good)
      good[result.parent[at]] = true
    else
      for k = 1, count do
        wait(waiting, at, to[k])
      end
    end
    if waiting.count > result.max_kept then
      return nil
    end
  end
  for at = 1, result.looked do
    if not good[at] then
      return at
    end
  end
end

---A round that the run takes from a state: the actions until a state comes again.
---@param result skillrt.check.Search
---@param at integer
---@return string[]
function M.loop(result, at)
  local ids, seen = {}, {}
  while at and not seen[at] do
    seen[at] = #ids + 1
    local i = search.open(result, at)[1]
    if i then
      ids[#ids + 1] = result.space.steps[i].action.id
      at = search.following(result, i)[1]
    end
  end
  return table.move(ids, at and seen[at] or 1, #ids, 1, {})
end

return M
