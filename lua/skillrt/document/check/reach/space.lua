-- document/check/reach/space.lua: the state space of a skill's actions.
--
-- A state is a text: its first byte says whether a step has run (2) or not (1), each further one is the class of a
-- variable. Variables that any action may set are not part of it. Called by document/check/reach.lua,
-- document/graph/build.lua and document/simulate.lua.
local change = require "skillrt.document.check.reach.change"
local tables = require "skillrt.base.tables"
local term_of = require "skillrt.document.check.reach.term"
local variables_of = require "skillrt.document.check.reach.variables"

local M = {}

local MAX_COUNTED <const> = 12
local COMPLETE <const>, ABORT <const> = "action-complete", "action-abort"

---@class skillrt.check.Change  what a step does to one variable
---@field variable skillrt.check.Variable
---@field targets integer[][]  by class: the classes possible afterwards
---@field place integer        its byte
---@field vague boolean?       some of them are a guess

---@class skillrt.check.Step
---@field action table         of the model
---@field terms skillrt.check.Term[]
---@field place integer?       the byte that tells how often it ran, where that is bounded
---@field most integer?        ... and its class when it has run max_runs times
---@field changes skillrt.check.Change[]

---@class skillrt.check.Space
---@field model skillrt.check.Model
---@field steps skillrt.check.Step[]   in the order in which the strategy takes them
---@field phases skillrt.check.Step[]
---@field ends skillrt.check.Step[]    what ends the run; its action has status and text
---@field variables table<string, skillrt.check.Variable>
---@field names string[]
---@field start string                 the state that a run starts in
---@field goal skillrt.check.Variable[]  everything that must be done: each in its second class
---@field fixed boolean                the strategy always takes the first that may run

local function ranked(model)
  local list = {}
  for _, action in ipairs(model.actions) do
    list[#list + 1] = action.id ~= ABORT and action or nil
  end
  if model.chooses == "priority" then
    table.sort(list, function(a, b)
      if a.priority ~= b.priority then
        return a.priority > b.priority
      end
      return a.index < b.index
    end)
  end
  return list
end

-- Terms with equal text are the same term.
local function collect_terms(owners)
  local by_text, all = {}, {}
  for _, owner in ipairs(owners) do
    owner.terms = {}
    for index, condition in ipairs(owner.when) do
      for _, term in ipairs(term_of.of(condition, index)) do
        local known = type(condition) == "table" and by_text[term.text]
        if not known then
          known = term
          by_text[term.text] = term
          all[#all + 1] = term
        end
        owner.terms[#owner.terms + 1] = known
      end
    end
  end
  return all
end

local function effects_of(owners)
  local all = {}
  for _, owner in ipairs(owners) do
    owner.changes = {}
    for _, effect in ipairs(owner.effects or {}) do
      if not effect.reserved then
        all[#all + 1] = effect
        owner.changes[#owner.changes + 1] = effect
      end
    end
  end
  return all
end

local function add_variable(space, variable)
  space.variables[variable.name] = variable
  space.names[#space.names + 1] = variable.name
  return variable
end

-- The variable that tells whether and how often an action ran, and the class at which it may not run again.
local function add_books(space, action)
  local name = "did " .. action.id
  local did = space.variables[name] or add_variable(space, { name = name, path = {}, did = action.id,
    values = { false, true }, class = { 1, 2 }, classes = { false, true }, init = 1 })
  if action.max_runs == 1 then
    return did, 2
  elseif action.max_runs > MAX_COUNTED then
    return nil
  end
  local counter = { name = "runs " .. action.id, path = {}, counter = true, values = {}, class = {}, init = 1 }
  for count = 0, math.floor(action.max_runs) do
    counter.values[count + 1], counter.class[count + 1] = count, count + 1
  end
  counter.classes = counter.values
  return add_variable(space, counter), #counter.classes
end

-- Assigns each variable in a state its byte.
local function place_all(space, terms)
  local start = { "\1" }
  for _, name in ipairs(space.names) do
    local variable = space.variables[name]
    if not variable.after and #variable.classes > 1 then
      start[#start + 1] = string.char(variable.init)
      variable.place = #start
    end
  end
  space.start = table.concat(start)
  for _, term in ipairs(terms) do
    term.places, term.answers = {}, { first = {}, may = {}, must = {} }
    for _, name in ipairs(term.vars) do
      term.places[#term.places + 1] = space.variables[name].place
    end
    term.only = #term.places == 1 and term.places[1] or nil
  end
end

-- The effects of an action on one variable, together.
local function targets_of(action, variable)
  if variable.did then
    return variable.did == action.id and { { 2 }, { 2 } } or nil
  elseif variable.counter then
    local targets = {}
    for class = 1, #variable.classes do
      targets[class] = { math.min(class + 1, #variable.classes) }
    end
    return variable.name == "runs " .. action.id and targets or nil
  end
  local targets, vague
  for _, effect in ipairs(action.changes) do
    local one, guess = change.targets(effect, variable)
    vague = vague or guess
    for class, list in pairs(targets and one or {}) do
      local both, known = {}, {}
      for _, target in ipairs(targets[class] or list) do
        known[target] = true
      end
      for _, target in ipairs(list) do
        both[#both + 1] = known[target] and target or nil
      end
      one[class] = #both > 0 and both or list
    end
    targets = one or targets
  end
  return targets, vague
end

-- What an action does: only the variables that its effects name are examined.
local function changes_of(space, action, by_key)
  local out, names, seen = {}, { "did " .. action.id, "runs " .. action.id }, {}
  for _, effect in ipairs(action.changes) do
    local key = effect.path[1]
    if not seen[key] then
      seen[key] = true
      table.move(by_key[key] or {}, 1, #(by_key[key] or {}), #names + 1, names)
    end
  end
  for _, name in ipairs(names) do
    local variable = space.variables[name]
    if variable and variable.place then
      local targets, vague = targets_of(action, variable)
      out[#out + 1] = targets
        and { variable = variable, place = variable.place, targets = targets, vague = vague } or nil
    end
  end
  return out
end

local function names_by_key(space)
  local by_key = {}
  for _, name in ipairs(space.names) do
    local variable = space.variables[name]
    local key = variable.place and not variable.did and not variable.counter and variable.path[1]
    if key then
      by_key[key] = by_key[key] or {}
      table.insert(by_key[key], name)
    end
  end
  return by_key
end

local function goal_of(space)
  local goal = {}
  for _, step in ipairs(space.steps) do
    local action = step.action
    if action.id == COMPLETE or (not action.terminal and not action.optional) then
      goal[#goal + 1] = space.variables["did " .. action.id]
    end
  end
  return goal
end

-- In the initial state nothing is a guess, not even a condition that classes cannot follow; leading phases may have
-- changed it.
local function know_first(terms, model)
  local initial = #model.phases == 0 and variables_of.initial(model)
  for _, term in ipairs(initial and terms or {}) do
    if term.holds then
      term.initially = term.holds(initial) == true
    end
  end
end

---The state space of a model.
---@param model skillrt.check.Model
---@return skillrt.check.Space
function M.of(model)
  local actions = ranked(model)
  local owners = tables.append(tables.append(tables.append({}, actions), model.phases), model.ends)
  local terms, effects = collect_terms(owners), effects_of(owners)
  local space = { steps = {}, ends = {}, phases = {}, model = model }
  space.variables, space.names = variables_of.of(terms, effects, model)
  space.fixed = model.chooses == "priority" or model.chooses == "sequential"
  know_first(terms, model)
  local counters = {}
  for i, action in ipairs(actions) do
    counters[i] = { add_books(space, action) }
  end
  place_all(space, terms)
  local by_key = names_by_key(space)
  local function step_of(action, counter)
    return { action = action, terms = action.terms, place = counter and counter[1] and counter[1].place,
      most = counter and counter[2], changes = changes_of(space, action, by_key) }
  end
  for i, action in ipairs(actions) do
    space.steps[i] = step_of(action, counters[i])
  end
  for i, phase in ipairs(model.phases) do
    space.phases[i] = step_of(phase)
  end
  for i, one in ipairs(model.ends) do
    space.ends[i] = { action = one, terms = one.terms, changes = {} }
  end
  space.goal = goal_of(space)
  return space
end

return M
