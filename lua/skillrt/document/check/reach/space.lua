-- document/check/reach/space.lua: the state space of a skill's actions, packed into bits.
--
-- A state is a list of 64-bit words, most often one. A variable takes as many bits as it needs to
-- number its classes; what is asked of it is which numbers it may have. Bit 0 of the first word: a
-- step has run. Called by check/reach.lua; searched by reach/search.lua.
local change = require "skillrt.document.check.reach.change"
local guard = require "skillrt.document.check.reach.guard"
local term_of = require "skillrt.document.check.reach.term"
local variables_of = require "skillrt.document.check.reach.variables"

local M = {}

local MAX_COUNTED = 12
local COMPLETE, ABORT = "action-complete", "action-abort"

---@class skillrt.check.Asked  what is asked of a variable
---@field word integer
---@field mask integer
---@field only integer?                   the bits that are right
---@field wants table<integer, boolean>?  these, where there are several

---@class skillrt.check.Step
---@field action table           of the model
---@field terms skillrt.check.Term[]
---@field extra skillrt.check.Constraint[]
---@field may skillrt.check.Asked[][]  alternatives: any of them, each all of its list
---@field must skillrt.check.Asked[][]
---@field first skillrt.check.Asked[][]
---@field updates table[]        { place, targets }

---@class skillrt.check.Space
---@field steps skillrt.check.Step[]   in the order in which the strategy takes them
---@field ends table[]                 { status, may, must, text }
---@field variables table<string, skillrt.check.Variable>
---@field places table<string, table>
---@field words integer
---@field start integer[]
---@field goal skillrt.check.Asked[]  all work is done
---@field fixed boolean                the strategy always takes the first that may run

local function ranked(model)
  local list = {}
  for _, action in ipairs(model.actions) do
    if action.id ~= ABORT then
      list[#list + 1] = action
    end
  end
  if model.strategy == "priority" then
    table.sort(list, function(a, b)
      if a.priority ~= b.priority then
        return a.priority > b.priority
      end
      return a.index < b.index
    end)
  end
  return list
end

-- Terms of equal text are one term, whoever reads it.
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

local function add_books(space, action)
  local variables = space.variables
  local did = "did " .. action.id
  if not variables[did] then
    variables[did] = { name = did, path = {}, did = action.id, values = { false, true }, class = { 1, 2 },
      classes = { false, true }, init = 1 }
    space.names[#space.names + 1] = did
  end
  if action.max_runs == 1 then
    return { { name = did, bits = 1 } }
  elseif action.max_runs > MAX_COUNTED then
    return {}
  end
  local counter = { name = "runs " .. action.id, path = {}, counter = true, values = {}, class = {}, init = 1 }
  for count = 0, math.floor(action.max_runs) do
    counter.values[count + 1], counter.class[count + 1] = count, count + 1
  end
  counter.classes = counter.values
  variables[counter.name] = counter
  space.names[#space.names + 1] = counter.name
  return { { name = counter.name, bits = (1 << #counter.classes - 1) - 1 } }
end

-- How many bits number so many classes.
local function width_of(count)
  local width = 0
  while 1 << width < count do
    width = width + 1
  end
  return width
end

local function place_all(space)
  local word, used = 1, 1 -- bit 0 of word 1 is taken
  for _, name in ipairs(space.names) do
    local variable = space.variables[name]
    local count = #variable.classes
    if not variable.after and count > 1 then
      local width = width_of(count)
      if used + width > 64 then
        word, used = word + 1, 0
      end
      local bits = {}
      for class = 1, count do
        bits[class] = class - 1 << used
      end
      space.places[name] = { name = name, word = word, mask = (1 << width) - 1 << used, bits = bits,
        variable = variable }
      used = used + width
    end
  end
  space.words = word
  space.start = {}
  for i = 1, word do
    space.start[i] = 0
  end
  for _, place in pairs(space.places) do
    space.start[place.word] = space.start[place.word] | place.bits[place.variable.init]
  end
end

-- What a constraint asks of its variable; nil: it never holds; false: it always does.
local function asked_of(space, constraint)
  local place, variable = space.places[constraint.name], space.variables[constraint.name]
  if not place then
    return constraint.bits & 1 << (variable.init - 1) ~= 0 and false or nil
  end
  local wants, only, count = {}, nil, 0
  for class = 1, #variable.classes do
    if constraint.bits & 1 << (class - 1) ~= 0 then
      only, count = place.bits[class], count + 1
      wants[only] = true
    end
  end
  return { word = place.word, mask = place.mask, only = count == 1 and only or nil, wants = count > 1 and wants or nil }
end

local function pack(space, alternatives)
  local out = {}
  for _, constraints in ipairs(alternatives) do
    local list, possible = {}, true
    for _, constraint in ipairs(constraints) do
      local asked = asked_of(space, constraint)
      possible = possible and asked ~= nil
      list[#list + 1] = asked or nil
    end
    out[#out + 1] = possible and list or nil
  end
  return out
end

local function target_of(space, action, name)
  local variable = space.variables[name]
  if variable.did then
    return variable.did == action.id and { 2, 2 } or nil
  elseif variable.counter then
    local targets = {}
    for class = 1, #variable.classes do
      targets[class] = 1 << (math.min(class + 1, #variable.classes) - 1)
    end
    return name == "runs " .. action.id and targets or nil
  end
  local targets, vague
  for _, effect in ipairs(action.changes) do
    local one, guess = change.targets(effect, variable)
    vague = vague or guess
    if one and targets then
      for class, bits in pairs(one) do
        local both = (targets[class] or bits) & bits
        one[class] = both ~= 0 and both or bits
      end
    end
    targets = one or targets
  end
  return targets, vague
end

-- What an action does, as { place, targets }: only the variables its effects name.
local function updates_of(space, action, by_key)
  local updates, names, seen = {}, { "did " .. action.id, "runs " .. action.id }, {}
  for _, effect in ipairs(action.changes) do
    if not seen[effect.path[1]] then
      seen[effect.path[1]] = true
      for _, name in ipairs(by_key[effect.path[1]] or {}) do
        names[#names + 1] = name
      end
    end
  end
  for _, name in ipairs(names) do
    local place = space.places[name]
    local targets, vague
    if place then
      targets, vague = target_of(space, action, name)
    end
    if targets then
      updates[#updates + 1] = { place = place, targets = targets, vague = vague }
    end
  end
  return updates
end

local function tracked_by_key(space)
  local by_key = {}
  for _, name in ipairs(space.names) do
    local variable = space.variables[name]
    local key = not variable.did and not variable.counter and not variable.after and variable.path[1]
    if key then
      by_key[key] = by_key[key] or {}
      table.insert(by_key[key], name)
    end
  end
  return by_key
end

local function guards(space, owner, extra)
  local out = { action = owner, terms = owner.terms, extra = extra }
  for _, mode in ipairs { "first", "may", "must" } do
    out[mode] = pack(space, guard.of(owner.terms, extra, space.variables, mode))
  end
  return out
end

local function goal_of(space)
  local goal = {}
  for _, step in ipairs(space.steps) do
    local action = step.action
    if action.id == COMPLETE or (not action.terminal and not action.optional) then
      goal[#goal + 1] = asked_of(space, { name = "did " .. action.id, bits = 2 }) or nil
    end
  end
  return goal
end

-- In the first state nothing has to be guessed, not even of a condition that classes cannot follow;
-- leading phases may have changed it.
local function know_first(terms, model)
  if #model.phases > 0 then
    return
  end
  local initial = variables_of.initial(model)
  for _, term in ipairs(terms) do
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
  local owners = table.move(actions, 1, #actions, 1, {})
  for _, list in ipairs { model.phases, model.ends } do
    table.move(list, 1, #list, #owners + 1, owners)
  end
  local terms, effects = collect_terms(owners), effects_of(owners)
  local space = { steps = {}, ends = {}, phases = {}, places = {}, model = model }
  space.variables, space.names = variables_of.of(terms, effects, model)
  know_first(terms, model)
  space.fixed = model.strategy == "priority" or model.strategy == "sequential"
  local extras = {}
  for i, action in ipairs(actions) do
    extras[i] = add_books(space, action)
  end
  place_all(space)
  local by_key = tracked_by_key(space)
  for i, action in ipairs(actions) do
    local step = guards(space, action, extras[i])
    step.updates = updates_of(space, action, by_key)
    space.steps[i] = step
  end
  for i, phase in ipairs(model.phases) do
    space.phases[i] = guards(space, phase, {})
    space.phases[i].updates = updates_of(space, phase, by_key)
  end
  for i, one in ipairs(model.ends) do
    space.ends[i] = guards(space, one, {})
  end
  space.goal = goal_of(space)
  return space
end

return M
