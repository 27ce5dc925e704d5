-- document/load/rounds.lua: phases that repeat, and those that run for each item of a list, as tables and diagrams
-- state them: the `rounds` and the `each` of a definition.
--
-- Called by sources.lua and by workflow.lua, which has the definition.
local effect = require "skillrt.skill.effect"
local normal = require "skillrt.skill.rounds"
local state = require "skillrt.skill.state"

local M = {}

---@class skillrt.load.Rounds
---@field indexes integer[]  neighbours
---@field over string?       the condition that ends them
---@field again string?      the condition without which there is no other round
---@field max integer?       how often they run at most
---@field asks_first boolean?  the condition is asked before the first round, too
---@field asked string?      no rounds: a condition that is asked behind this phase, which sets what it reads
---@field each string?       the key of the list, of which one phase runs for each item
---@field place { file: string, line: integer }?  where documents say so

-- Who reads a key must be told who sets it: the last phase of a round promises it.
local function promise(phase, condition)
  local key = condition:match "^!?%s*([%a_][%w_]*)"
  local text = key and not state.is_reserved(key) and key ~= "input" and key .. "!=null"
  if text and effect.list { text } then
    phase.effects = phase.effects or {}
    table.insert(phase.effects, text)
  end
end

---Puts rounds and lists into a definition.
---@param definition table  what skillrt.skill takes
---@param all skillrt.load.Rounds[]
function M.apply(definition, all)
  local phases, rounds = definition.phases, {}
  for _, one in ipairs(all) do
    local first, last = phases[one.indexes[1]], phases[one.indexes[#one.indexes]]
    if one.each then
      first.each = one.each
      if one.indexes[1] > 1 then -- the phase before it is asked to give the list
        promise(phases[one.indexes[1] - 1], one.each)
      end
    elseif one.asked then
      promise(first, one.asked)
    else
      rounds[#rounds + 1] = { first = first.id, last = last.id, over = one.over, again = one.again,
        max_rounds = one.max, asks_first = one.asks_first }
      promise(last, one.over or one.again or "")
    end
  end
  definition.rounds = #rounds > 0 and rounds or nil
end

---Why phases that repeat cannot go round; nil: they can.
---@param list table[]  the phases as a config holds them
---@param all skillrt.load.Rounds[]  that are taken already
---@param one skillrt.load.Rounds
---@return string? why  "": the same stands there already
function M.obstacle(list, all, one)
  for i, index in ipairs(one.indexes) do
    if i > 1 and index ~= one.indexes[i - 1] + 1 then
      return "they are no neighbours"
    end
  end
  if one.each or one.asked then
    return nil
  end
  local rounds = {}
  for i, other in ipairs { one, table.unpack(all) } do
    if not other.each and not other.asked then
      local first, last = other.indexes[1], other.indexes[#other.indexes]
      if i > 1 and first == one.indexes[1] and last == one.indexes[#one.indexes] then
        return ""
      end
      rounds[#rounds + 1] = { first = list[first].id, last = list[last].id, max_rounds = 1 }
    end
  end
  local phases = {}
  for i, phase in ipairs(list) do
    phases[i] = { id = phase.id, parallel = phase.parallel }
  end
  local why = normal.check { phases = phases, rounds = rounds }
  return why and why:gsub("^rounds%[%d+%]: ", "")
end

---The rounds, by the places of phases in the order that runs; told where they cannot be run.
---@param flow skillrt.load.Flow
---@param list table[]  the phases as a config holds them
---@param place_of table<integer, integer>  the place of each phase of the mentions
---@param has_loop boolean  the loop of actions stands among the phases
---@return skillrt.load.Rounds[]?
function M.of_flow(flow, list, place_of, has_loop)
  local out = {}
  for _, read in ipairs(flow.rounds) do
    local places = {}
    for i, index in ipairs(read.indexes) do
      places[i] = place_of[index]
    end
    table.sort(places)
    local one = { indexes = places, over = read.over, again = read.again, max = read.max, each = read.each,
      asks_first = read.asks_first, asked = read.asked, place = read.place }
    local why = has_loop and not read.asked and "the loop of the actions stands among the phases"
      or M.obstacle(list, out, one)
    if not why then
      out[#out + 1] = one
    elseif why ~= "" then
      flow.quotes:add(("%s (%s)"):format(read.text, why), read.place, 1)
    end
  end
  return #out > 0 and out or nil
end

return M
