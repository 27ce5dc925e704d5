-- document/load/rounds.lua: phases that repeat, and those that run for each item of a list, as workflow.json has them:
-- the `rounds` and the `each` of a definition.
--
-- Called by workflow.lua, which has the definition, and by document/compile.
local effect = require "skillrt.skill.effect"
local normal = require "skillrt.skill.rounds"
local state = require "skillrt.skill.state"

local M = {}

---@class skillrt.load.Rounds
---@field indexes integer[]  neighbours
---@field over string?       the condition that ends them
---@field again string?      the condition that must be true for another round
---@field max integer?       how often they run at most
---@field asks_first boolean?  the condition is checked before the first round, too
---@field each string?       the key of the list for whose items one phase runs

-- The last phase of a round must promise the keys that its condition reads.
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
    else
      rounds[#rounds + 1] = { first = first.id, last = last.id, over = one.over, again = one.again,
        max_rounds = one.max, asks_first = one.asks_first }
      promise(last, one.over or one.again or "")
    end
  end
  definition.rounds = #rounds > 0 and rounds or nil
end

---Why phases cannot repeat; nil: they can.
---@param list table[]  the phases as a config holds them
---@param all skillrt.load.Rounds[]  that are taken already
---@param one skillrt.load.Rounds
---@return string? why  "": the same round exists already
function M.obstacle(list, all, one)
  for i, index in ipairs(one.indexes) do
    if i > 1 and index ~= one.indexes[i - 1] + 1 then
      return "they are no neighbours"
    end
  end
  if one.each then
    return nil
  end
  local rounds = {}
  for i, other in ipairs { one, table.unpack(all) } do
    if not other.each then
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

return M
