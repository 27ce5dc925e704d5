-- skill/merge.lua: merges updates of a state's field that several steps changed at the same time.
--
-- Each step gives the value as it should be, based on the state as it was when the step started. The schema says how
-- to combine that with what others changed meanwhile. Sequential and parallel steps give the same result. Knows
-- values, no steps. Called by run/outcome/meeting.lua and init.lua.

local json = require("skillrt.base.json")
local readonly = require("skillrt.base.readonly")
local state = require("skillrt.skill.state")
local types = require("skillrt.skill.types")

local M = {}

local function is_list(value)
  return type(value) == "table" and (json.is_array(value) or next(value) == nil)
end

local function as_list(value)
  return is_list(value) and value or {}
end

-- What a step added to the list it saw: what follows its items, or the whole list it gave.
local function added(base, update)
  if #update < #base then
    return update, 1
  end
  for i = 1, #base do
    if not state.equal(base[i], update[i]) then
      return update, 1
    end
  end
  return update, #base + 1
end

local WAYS = {}

function WAYS.last(_, _, update)
  return update
end

function WAYS.fail(old, base, update)
  if not state.equal(old, base) and not state.equal(old, update) then
    return nil, "another step changed it since this one began"
  end
  return update
end

function WAYS.append(old, base, update)
  if not is_list(update) then
    return nil, "must be a list to be appended, not " .. types.describe(update)
  end
  local out = table.move(as_list(old), 1, #as_list(old), 1, json.array())
  local items, from = added(as_list(base), update)
  return table.move(items, from, #items, #out + 1, out)
end

function WAYS.union(old, _, update)
  if not is_list(update) then
    return nil, "must be a list to be united, not " .. types.describe(update)
  end
  local out, there = json.array(), {}
  for _, list in ipairs({ as_list(old), update }) do
    for i = 1, #list do
      local text, message = json.encode(list[i])
      if not text then
        return nil, message
      elseif not there[text] then
        there[text], out[#out + 1] = true, list[i]
      end
    end
  end
  return out
end

function WAYS.sum(old, base, update)
  local before, now = base or 0, old or 0
  if type(update) ~= "number" or type(before) ~= "number" or type(now) ~= "number" then
    local wrong = type(update) ~= "number" and update or type(before) ~= "number" and before or now
    return nil, "must be a number to be summed, not " .. types.describe(wrong)
  end
  return now + (update - before)
end

---The merge rules, in the words of a schema.
M.WAYS = { "last", "append", "union", "sum", "fail" }

---Whether values of a type can be merged by a rule.
---@param way string
---@param declared string?  a type; nil: any
---@return boolean
function M.suits(way, declared)
  if declared == nil or declared == "any" or way == "last" or way == "fail" then
    return true
  elseif way == "sum" then
    return declared == "number" or declared == "integer"
  end
  return types.is_list(declared)
end

local function plain(value)
  value = readonly.target(value) or value
  if value == json.null then
    return nil
  end
  return value
end

---The new value of a field; null removes it, whatever the rule, if others did not change it.
---@param way string    one of WAYS
---@param old any       the present value
---@param base any      the value when the step started
---@param update any    what the step gave
---@return any value    nothing given is changed or kept but the items of lists
---@return string? problem  why there is none
function M.value(way, old, base, update)
  if update == json.null then
    way = way == "fail" and "fail" or "last"
  end
  return WAYS[way](plain(old), plain(base), update)
end

return M
