-- document/load/rounds.lua: phases that repeat, and those that run for each item of a list, where a document says so in
-- a stated shape: "Repeat phases 2-4 until `score >= 8`, at most 5 times.", or an edge of a diagram with a condition.
--
-- Makes of them the `rounds` and the `each` of a definition. Called by flow.lua, which reads the sentences, and
-- folder.lua, which has the definition.
local effect = require "skillrt.skill.effect"
local expr = require "skillrt.expr"
local normal = require "skillrt.skill.rounds"
local state = require "skillrt.skill.state"

local M = {}

local MAX_LINE <const> = 400

---@class skillrt.load.Rounds
---@field indexes integer[]  neighbours
---@field over string?       the condition that ends them
---@field again string?      the condition without which there is no other round
---@field max integer?       how often they run at most
---@field asks_first boolean?  the condition is asked before the first round, too
---@field asked string?      no rounds: a condition that is asked behind this phase, which sets what it reads
---@field each string?       the key of the list, of which one phase runs for each item

-- The one code span of a line, and the line without it.
local function code_in(text)
  if #text > MAX_LINE then
    return nil
  end
  local code, after = text:match "`([^`]+)`()"
  if code and text:find("`", after, true) then
    return nil
  end
  return code or false, (text:gsub("`[^`]+`", "CODE"):gsub("[*_]", ""))
end

---The rounds that a line states in full; nil for all else.
---@param text string
---@param named integer[]  the phases it names
---@return skillrt.load.Rounds?
function M.read(text, named)
  local code, rest = code_in(text)
  local words = rest and rest:lower() or ""
  local max = tonumber(words:match "at most (%d+) %a+" or words:match "up to (%d+) %a+"
    or words:match "max%a* (%d+) %a+")
  if max == 0 or #named == 0 then
    return nil
  elseif code and words:find "repeat%a* " and expr.compile(code) then
    if words:find "until code" then
      return { indexes = named, over = code, max = max, asks_first = true }
    elseif words:find "while code" then
      return { indexes = named, again = code, max = max }
    end
  elseif code == false and words:find "^[%s%-+#%d.]*repeat phases? [%d%s,&%-andto]+ %d+ times[.%s]*$" then
    max = tonumber(words:match "(%d+) times")
    return max > 0 and { indexes = named, max = max } or nil
  elseif code and #named == 1 and words:find "runs? %a*%s*for each of code" and code:find "^[%a_][%w_]*$" then
    return { indexes = named, each = code }
  end
  return nil
end

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
      if one.indexes[1] > 1 then -- who is before it is told to give the list
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
      asks_first = read.asks_first, asked = read.asked }
    local why = has_loop and not read.asked and "the loop of the actions stands among the phases"
      or M.obstacle(list, out, one)
    if not why then
      out[#out + 1] = one
    elseif why ~= "" then
      for _, index in ipairs(read.indexes) do
        flow.covered.loop[index] = nil
      end
      flow:tell("loop", read.indexes, read.place, ("%s (%s)"):format(read.text, why))
    end
  end
  return #out > 0 and out or nil
end

return M
