-- document/check/reach/guard.lua: the terms of an action as alternatives over classes: { { variable, bits }, ... }.
--
-- Three readings of a condition: "first" in the initial state, where every value is known; "may":
-- some value of what is not tracked makes it hold; "must": every value does. Knows terms and
-- variables, no bits of states. Called by reach/space.lua.
local domain = require "skillrt.document.check.reach.domain"

local M = {}

local MAX_ALTERNATIVES = 64

---@alias skillrt.check.Constraint { name: string, bits: integer }
---@alias skillrt.check.Alternatives skillrt.check.Constraint[][]  any of them, each all of its constraints

-- Whether a term holds for these classes of its tracked variables.
local function holds(term, variables, class_of, mode)
  local free = {}
  for _, name in ipairs(term.vars) do
    if not class_of[name] then
      free[#free + 1] = name
    end
  end
  local chosen = {}
  local function try(k)
    local name = free[k]
    if not name then
      return term.holds(domain.state(term, function(one)
        return variables[one].classes[class_of[one] or chosen[one]]
      end)) == true
    end
    local variable = variables[name]
    local bits = mode == "first" and 1 << (variable.init - 1) or variable.after
    for class = 1, #variable.classes do
      if bits & 1 << (class - 1) ~= 0 then
        chosen[name] = class
        local ok = try(k + 1)
        if ok ~= (mode == "must") then
          return ok
        end
      end
    end
    return mode == "must"
  end
  return try(1)
end

-- The alternatives of one term: all but the last tracked variable class by class.
local function of_term(term, variables, mode)
  if mode == "first" and term.initially ~= nil then
    return term.initially and { {} } or {}
  elseif term.opaque then
    return mode == "must" and {} or { {} }
  end
  local tracked, out, class_of = {}, {}, {}
  for _, name in ipairs(term.vars) do
    if not variables[name].after then
      tracked[#tracked + 1] = name
    end
  end
  local function vary(k, constraints)
    if #tracked == 0 then
      out[1] = holds(term, variables, class_of, mode) and {} or nil
      return
    end
    local name = tracked[k]
    local variable, bits = variables[name], 0
    for class = 1, #variable.classes do
      class_of[name] = class
      if k < #tracked then
        local more = table.move(constraints, 1, #constraints, 1, {})
        more[k] = { name = name, bits = 1 << (class - 1) }
        vary(k + 1, more)
      elseif holds(term, variables, class_of, mode) then
        bits = bits | 1 << (class - 1)
      end
    end
    class_of[name] = nil
    if k == #tracked and bits ~= 0 then
      local more = table.move(constraints, 1, #constraints, 1, {})
      more[k] = bits ~= domain.all(variable) and { name = name, bits = bits } or nil
      out[#out + 1] = more
    end
  end
  vary(1, {})
  return out
end

-- Both lists of constraints at once; nil where they contradict each other.
local function join(a, b)
  local out = {}
  for i, one in ipairs(a) do
    out[i] = one
  end
  for _, one in ipairs(b) do
    local merged = false
    for i, known in ipairs(out) do
      if known.name == one.name then
        local bits = known.bits & one.bits
        if bits == 0 then
          return nil
        end
        out[i], merged = { name = one.name, bits = bits }, true
      end
    end
    if not merged then
      out[#out + 1] = one
    end
  end
  return out
end

---The alternatives of one term, worked out once.
---@param term skillrt.check.Term
---@param variables table<string, skillrt.check.Variable>
---@param mode "first"|"may"|"must"
---@return skillrt.check.Alternatives
function M.term(term, variables, mode)
  term.guards = term.guards or {}
  term.guards[mode] = term.guards[mode] or of_term(term, variables, mode)
  return term.guards[mode]
end

---The alternatives of all terms together; an empty list: they never hold.
---@param terms skillrt.check.Term[]
---@param extra skillrt.check.Constraint[]  what else is asked
---@param variables table<string, skillrt.check.Variable>
---@param mode "first"|"may"|"must"
---@return skillrt.check.Alternatives
function M.of(terms, extra, variables, mode)
  local out = { extra }
  for _, term in ipairs(terms) do
    local mine, joined = M.term(term, variables, mode), {}
    for _, a in ipairs(out) do
      for _, b in ipairs(mine) do
        joined[#joined + 1] = join(a, b)
      end
    end
    if #joined <= MAX_ALTERNATIVES then
      out = joined
    elseif mode == "must" then
      return {} -- too many to be sure
    end
  end
  return out
end

return M
