-- document/check/reach/rounds.lua: runs that go round without end: states from which no end can be reached.
--
-- Asks the search again what follows a state instead of having kept it. Knows a search that is over. Called by
-- check/reach.lua.
local M = {}

-- Whether every step uses up one of its runs: then every sequence ends.
local function all_bounded(space)
  for _, step in ipairs(space.steps) do
    if not step.place and not step.action.terminal then
      return false
    end
  end
  return true
end

-- The numbers of the states that may follow one; those that were not kept are false.
local function following(result, at)
  local out = {}
  for _, i in ipairs((result:open(at))) do
    for _, state in ipairs((result:after(result.space.steps[i]))) do
      out[#out + 1] = result.numbers[state] or false
    end
  end
  return out
end

-- Ends, what leads to states that were not looked at, and these.
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

-- Marks a state as good, and all that waited for it.
local function mark(good, waiting, at)
  local todo = { at }
  while #todo > 0 do
    local one = table.remove(todo)
    good[one] = true
    for _, from in ipairs(waiting[one] or {}) do
      if not good[from] then
        good[from] = true
        todo[#todo + 1] = from
      end
    end
    waiting[one] = nil
  end
end

-- Whether a state leads to a good one; where it does not yet, it waits for those it leads to.
local function leads_on(result, at, good, waiting)
  local numbers = following(result, at)
  for _, number in ipairs(numbers) do
    if not number or number > result.looked or good[number] then
      return true
    end
  end
  for _, number in ipairs(numbers) do
    waiting[number] = waiting[number] or {}
    table.insert(waiting[number], at)
  end
  return false
end

---The first state from which no end, and no state that was not looked at, can be reached. Backwards: a good state
---makes the one good that it was found from, so that little has to be worked out again.
---@param result skillrt.check.Search
---@return integer?
function M.stuck(result)
  if all_bounded(result.space) then
    return nil
  end
  local good, waiting = good_ones(result), {}
  for at = #result.states, 1, -1 do
    if good[at] or leads_on(result, at, good, waiting) then
      mark(good, waiting, at)
      if result.parent[at] > 0 then
        good[result.parent[at]] = true
      end
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
    local i = result:open(at)[1]
    if i then
      ids[#ids + 1] = result.space.steps[i].action.id
      at = following(result, at)[1]
    end
  end
  return table.move(ids, at and seen[at] or 1, #ids, 1, {})
end

return M
