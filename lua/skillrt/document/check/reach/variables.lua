-- document/check/reach/variables.lua: the variables of a skill: what its conditions read, and what is known of each.
--
-- A key that some effect names changes only by effects; a key that none names may be set by any action once one has
-- run; the runtime's fields follow the runtime. Called by reach/space.lua.
local change = require "skillrt.document.check.reach.change"
local json = require "skillrt.base.json"
local state = require "skillrt.skill.state"
local values = require "skillrt.document.check.reach.values"

local M = {}

-- The runtime's own fields before the first step.
local function first_values()
  return {
    status = "pending",
    error_count = 0,
    iteration_count = 0,
    errors = json.array {},
    completed_actions = json.array {},
    phases_completed = json.array {},
    phases_skipped = json.array {},
    context = {},
    outputs = {},
  }
end

local function lookup(root, path)
  local at = root
  for _, key in ipairs(path) do
    if type(at) ~= "table" then
      return nil
    end
    at = at[key]
  end
  return at
end

---The state at the start of a run, as far as it is known.
---@param model skillrt.check.Model
---@return table
function M.initial(model)
  local out = {}
  for key, value in pairs(model.state) do
    out[key] = value
  end
  for key, value in pairs(first_values()) do
    out[key] = value
  end
  return out
end

local KINDS = { error_count = "number", iteration_count = "number" }

-- Whether some effect increments or decrements a variable.
local function counts(variable, effects)
  for _, effect in ipairs(effects) do
    if effect.step and change.relation(effect.path, variable.path) == "same" then
      return true
    end
  end
  return false
end

-- A number or a list keeps its type, unless a schema says otherwise.
local function kind_of(first, terms)
  if type(first) == "number" then
    return "number"
  end
  local is_list = type(first) == "table" and (#first > 0 or json.is_array(first))
  for _, term in ipairs(type(first) == "table" and next(first) == nil and terms or {}) do
    is_list = is_list or term.lengths
  end
  return is_list and "any[]" or nil
end

-- What terms and effects tell about a variable.
local function facts_of(variable, terms, effects, model)
  local facts = { literals = {}, items = {}, given = {} }
  variable.counted = counts(variable, effects) or nil
  local key = variable.path[1]
  local function literal(value)
    facts.literals[#facts.literals + 1] = value
  end
  for _, term in ipairs(terms) do
    for _, value in ipairs(term.literals) do
      literal(value)
    end
    for _, item in ipairs(term.items[variable.name] or {}) do
      facts.items[#facts.items + 1] = item
    end
    for _, other in ipairs(#term.vars > 1 and term.vars or {}) do
      local first = lookup(model.state, term.paths[other])
      if type(first) == "number" then
        literal(first)
      elseif term.lengths and variable.counted then -- distinguished up to the longest list it is compared with
        literal(math.max(values.LONGEST, type(first) == "table" and #first or 0))
      end
    end
  end
  for _, effect in ipairs(effects) do
    local relation = change.relation(effect.path, variable.path)
    if relation == "same" and effect.compares then
      literal(effect.value)
      if #effect.path == #variable.path then
        facts.given[#facts.given + 1] = effect.value
      end
    end
  end
  facts.kind = #variable.path == 1 and (KINDS[key] or model.schema[key])
    or kind_of(lookup(model.state, variable.path), terms)
  facts.low = KINDS[key] and 0 or nil
  return facts
end

local function add_values(variable, terms, effects, model)
  local facts = facts_of(variable, terms, effects, model)
  local key = variable.path[1]
  local first = lookup(state.is_reserved(key) and first_values() or model.state, variable.path)
  facts.init = first
  table.insert(facts.given, first == nil and json.null or first)
  if key == "status" and #variable.path == 1 then
    variable.values = { "pending", "running" }
  elseif key == "error_count" and #variable.path == 1 and model.limits.max_errors <= values.MAX_CLASSES then
    variable.values = {}
    for count = 0, model.limits.max_errors - 1 do
      variable.values[count + 1] = count
    end
  else
    variable.values = values.values(facts)
  end
  variable.first = first == nil and json.null or first
end

-- A counter with too many steps to be followed one by one.
local function merged(variable, terms, variables)
  local counted = variable.counted
  variable.counted = nil
  return counted and values.classify(variable, terms, variables)
end

local function classify(variable, terms, variables)
  if variable.did then
    variable.class, variable.classes = { 1, 2 }, { false, true }
  elseif not values.classify(variable, terms, variables) and not merged(variable, terms, variables) then
    for _, term in ipairs(terms) do
      term.opaque = true
    end
    variable.class, variable.classes = {}, { variable.values[1] }
    for i = 1, #variable.values do
      variable.class[i] = 1
    end
  end
  variable.init = variable.did and 1 or values.class_of(variable, variable.first) or 1
end

-- Whether some effect changes the variable from its first value. If effects only reset it, somebody else sets it
-- without declaring it: then it is as free as a key that no effect names.
local function moves(variable, effects)
  for _, effect in ipairs(effects) do
    local relation = change.relation(effect.path, variable.path)
    local step = effect.step
    if relation == "around" or relation == "inside" or (relation and step == "++") then
      return true
    elseif relation and not step and not effect.check(nil, change.at_path(variable.path, variable.first)) then
      return true
    end
  end
  return false
end

-- Whether the variable follows the effects, or else what is known once a step has run.
local function settle(variable, effects, model)
  local key = variable.path[1]
  if variable.did then
    variable.after = not model.by_id[variable.did] and { 1 } or nil
    return
  elseif key == "status" and #variable.path == 1 then
    variable.after = { values.class_of(variable, "running") }
    return
  end
  variable.after = values.all(variable)
  if model.closed and #effects == 0 and not state.is_reserved(key) and key ~= "input"
    and (model.state[key] ~= nil or model.schema[key]) then
    variable.after = { variable.init } -- what no effect names never changes
  end
  if not state.is_reserved(key) and moves(variable, effects) then
    variable.after = nil
  end
end

---The variables the terms read.
---@param terms skillrt.check.Term[]  each text once
---@param effects table[]  every effect of the skill that is no runtime field's
---@param model skillrt.check.Model
---@return table<string, skillrt.check.Variable> variables
---@return string[] names  sorted
function M.of(terms, effects, model)
  local variables, names, readers = {}, {}, {}
  for _, term in ipairs(terms) do
    for _, name in ipairs(term.vars) do
      if not variables[name] then
        variables[name] = { name = name, path = term.paths[name], did = term.did[name] }
        names[#names + 1], readers[name] = name, {}
      end
      table.insert(readers[name], term)
    end
  end
  table.sort(names)
  local by_key = {}
  for _, effect in ipairs(effects) do
    by_key[effect.path[1]] = by_key[effect.path[1]] or {}
    table.insert(by_key[effect.path[1]], effect)
  end
  for _, name in ipairs(names) do
    local variable = variables[name]
    if variable.did then
      variable.values = { false, true }
    else
      add_values(variable, readers[name], by_key[variable.path[1]] or {}, model)
    end
  end
  for _, name in ipairs(names) do
    classify(variables[name], readers[name], variables)
    settle(variables[name], by_key[variables[name].path[1]] or {}, model)
  end
  return variables, names
end

return M
