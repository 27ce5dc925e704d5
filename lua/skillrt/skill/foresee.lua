-- skill/foresee.lua: predicts a state from declared effects: the smallest change that keeps each promise.
--
-- Pure; changed values are new ones, so that holders of old ones keep them. Called by planner.lua.

local json = require("skillrt.base.json")
local tables = require("skillrt.base.tables")

local M = {}

local function grown(list, count)
  local out = json.array({})
  for i = 1, count do
    local value = type(list) == "table" and list[i]
    out[i] = value ~= nil and value or true
  end
  return out
end

local function is_null(value)
  return value == nil or value == json.null
end

-- The smallest change of a number that satisfies a comparison.
local function compared(op, value)
  if op == ">" then
    return value + 1
  elseif op == "<" then
    return value - 1
  end
  return value
end

local function unequal(value)
  if value == true then
    return false
  end
  return value == false or is_null(value) or value ~= true
end

local function counted(old, step)
  local by = step == "++" and 1 or -1
  if type(old) == "table" then
    return grown(old, math.max(0, #old + by))
  end
  return (type(old) == "number" and old or 0) + by
end

-- The new value in place of one that did not keep the promise.
local function kept(effect, old)
  local op, value = effect.op, effect.value
  if effect.step then
    return counted(old, effect.step)
  elseif not op then
    return effect.truthy
  elseif op:find("^!") then
    return unequal(value)
  elseif op:find("^[<>]") and type(value) == "number" then
    return compared(op, value)
  end
  return value
end

-- A value with a change along a path; unchanged parts are shared.
local function at(old, path, depth, effect)
  if depth > #path then
    return kept(effect, old)
  elseif path[depth] == "length" and depth == #path then
    local count = kept(effect, type(old) == "table" and #old or 0)
    return grown(old, type(count) == "number" and math.max(0, math.min(count, 10000)) or 1)
  end
  local out = tables.fill({}, tables.object(old))
  out[path[depth]] = at(out[path[depth]], path, depth + 1, effect)
  return out
end

---Applies one effect to a state, which is written to.
---@param state table
---@param effect skillrt.Effect
function M.apply(state, effect)
  if effect.reserved or not effect.step and effect.check(nil, state) then
    return
  end
  state[effect.key] = at(state[effect.key], effect.path, 2, effect)
end

return M
