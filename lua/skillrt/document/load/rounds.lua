-- document/load/rounds.lua: phases that repeat, and one that runs for each item of a list, where a document says so in
-- the stated shape: "Repeat phases 2-4 until `score >= 8`, at most 5 times."
--
-- Makes of them the loop of a hybrid: the phases before it lead, those behind it trail. Called by flow.lua, which
-- reads the sentence, and folder.lua, which has the definition.
local effect = require "skillrt.skill.effect"
local expr = require "skillrt.expr"

local M = {}

local MAX_LINE <const> = 400

---@class skillrt.load.Rounds
---@field indexes integer[]  neighbours
---@field over string?       the condition that ends them
---@field max integer?       how often they run at most
---@field each string?       the key of the list, of which one phase runs for each item

-- The one code span of a line, and the line without it.
local function code_in(text)
  if #text > MAX_LINE then
    return nil
  end
  local code, after = text:match "`([^`]+)`()"
  if not code or text:find("`", after, true) then
    return nil
  end
  return code, (text:gsub("`[^`]+`", "CODE"):gsub("[*_]", ""))
end

---The rounds that a line states in full; nil for all else.
---@param text string
---@param named integer[]  the phases it names
---@return skillrt.load.Rounds?
function M.read(text, named)
  local code, rest = code_in(text)
  local words = rest and rest:lower() or ""
  if words:find "repeat%a* " and words:find "until code" then
    local max = words:match "at most (%d+) %a+" or words:match "up to (%d+) %a+" or words:match "max%a* (%d+) %a+"
    if max and tonumber(max) > 0 and expr.compile(code) then
      return { indexes = named, over = code, max = tonumber(max) }
    end
  elseif #named == 1 and words:find "runs? %a*%s*for each of code" and code:find "^[%a_][%w_]*$" then
    return { indexes = named, each = code }
  end
  return nil
end

-- Round by round, each phase in its turn; the condition is asked between two rounds.
local function strategy_of(ids, over)
  local condition = over and assert(expr.compile(over))
  return {
    name = "rounds",
    order = "declaration",
    select = function(state, available, ctx)
      local rounds = ctx.runs[ids[1]] or 0
      for _, id in ipairs(ids) do
        if (ctx.runs[id] or 0) < rounds then
          return id
        end
      end
      if condition and condition(state) then
        return nil, over .. " holds"
      end
      return available:has(ids[1]) and ids[1] or nil, "it has gone round as often as it may"
    end,
  }
end

local OF_PHASES = { "input", "output", "output_free", "answer", "parallel", "trailing", "objectives" }

---Makes the phases of the rounds the loop of a hybrid.
---@param definition table  what skillrt.skill takes
---@param rounds skillrt.load.Rounds
function M.apply(definition, rounds)
  local first, last = rounds.indexes[1], rounds.indexes[#rounds.indexes]
  local phases, actions, ids = {}, {}, {}
  for i, phase in ipairs(definition.phases) do
    if i < first or i > last then
      phase.trailing = i > last or nil
      phases[#phases + 1] = phase
    else
      for _, key in ipairs(OF_PHASES) do
        phase[key] = nil
      end
      phase.max_runs, phase.each = rounds.max, rounds.each
      actions[#actions + 1], ids[#ids + 1] = phase, phase.id
    end
  end
  if rounds.over then
    local key = rounds.over:match "^!?%s*([%a_][%w_]*)"
    local promise = key and key .. "!=null" -- who reads it must be told who sets it
    actions[#actions].effects = promise and effect.list { promise } and { promise } or nil
  end
  definition.mode, definition.phases, definition.actions = #phases > 0 and "hybrid" or "autonomous", phases, actions
  definition.strategy, definition.on_loop_failed = strategy_of(ids, rounds.over), nil
end

---Why phases that repeat cannot be made a loop; nil: they can.
---@param list table[]  the phases as a config holds them
---@param rounds skillrt.load.Rounds
---@return string?
function M.obstacle(list, rounds)
  local inside, made = {}, {}
  for i, index in ipairs(rounds.indexes) do
    local phase = list[index]
    if i > 1 and index ~= rounds.indexes[i - 1] + 1 then
      return "they are no neighbours"
    elseif phase.condition or phase.parallel then
      return ("phase %s has a condition, or runs beside others"):format(phase.id)
    end
    inside[index], made[phase.output or ""] = true, phase.output and phase.id
  end
  for index, phase in ipairs(list) do
    for _, name in ipairs(phase.input or {}) do
      if not inside[index] and made[name] then
        return ("phase %s takes %s of %s as its input"):format(phase.id, name, made[name])
      end
    end
  end
  return nil
end

return M
