-- document/load/merge.lua: the facts about a folder's actions, as the part of a skill-config that a config would hold.
-- The weightiest holds; where documents differ is told, as is all that could not be read.
--
-- Called by sources.lua.
local conditions = require "skillrt.document.load.condition"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"
local prose_of = require "skillrt.document.load.prose"
local state = require "skillrt.skill.state"

local M = {}

local function has_prose(list)
  for _, told in ipairs(list) do
    if not told.condition then
      return true
    end
  end
  return false
end

local function tell_unread(id, fact, found)
  for _, told in ipairs(fact.value) do
    if not told.condition then
      local what = ("action %s: its precondition cannot be read: %s (%s)"):format(id, told.text, told.problem)
      local fix = told.hint and ("write `%s`"):format(told.hint) or "write a condition such as `files.length > 0`"
      local why = "what cannot be read lets nothing through: the action waits for it"
      found:warn("condition-unread", { file = fact.at.file, line = told.line }, what, why, fix)
    end
  end
end

-- The conditions of a list as they are compared, and as they are shown.
local function set_of(list)
  local set, shown = {}, {}
  for _, told in ipairs(list) do
    if told.condition then
      local plain = told.condition:gsub("state%??%.", ""):gsub("%s+", ""):gsub('"', "'")
      set[plain:gsub("===", "=="):gsub("!==", "!=")] = true
      shown[#shown + 1] = "`" .. told.condition .. "`"
    end
  end
  return set, #shown > 0 and table.concat(shown, " and ") or "none"
end

local function holds(a, b)
  for key in pairs(b) do
    if not a[key] then
      return false
    end
  end
  return next(b) ~= nil or next(a) == nil
end

local function tell_differing(id, list, found)
  local mine, text = set_of(list[1].value)
  for i = 2, #list do
    local other, place = list[i], list[1].at
    local theirs, said = set_of(other.value)
    local summary = other.weight == prose_of.TABLE and next(mine) ~= nil -- tables leave out what goes without saying
    if not (holds(mine, theirs) and (summary or holds(theirs, mine))) and not has_prose(other.value) then
      local what = ("action %s: its preconditions here (%s) differ from %s:%d (%s)"):format(id, said, place.file,
        place.line or 1, text)
      found:warn("condition-differs", other.at, what, ("%s is what runs"):format(place.file),
        "say it in one place, or the same in both")
    end
  end
end

-- The preconditions that hold; nil: no document lists any.
local function conditions_of(id, list, found)
  if #list == 0 then
    return nil
  end
  tell_unread(id, list[1], found)
  tell_differing(id, list, found)
  local out = json.array {}
  for i, told in ipairs(list[1].value) do
    out[i] = told.condition or conditions.judged(told.text)
  end
  return out
end

local function effects_of(id, facts, found)
  local out, seen, fact = json.array {}, {}, nil
  for _, one in ipairs(facts:all(id, "effects")) do
    fact = fact or #one.value > 0 and one or nil
  end
  for _, told in ipairs(fact and fact.value or {}) do
    if told.effect and not seen[told.effect] then
      seen[told.effect] = true
      out[#out + 1] = told.effect
    elseif not told.effect then
      local what = ("action %s: its effect cannot be read: %s"):format(id, told.text)
      found:note("effect-unread", { file = fact.at.file, line = told.line }, what, "it is not checked",
        "write `key=value`, `key++` or `key.length>0`")
    end
  end
  return out
end

-- "go on with the same action" is a promise that it may run again, but only a condition that can
-- be read ends that.
local function may_repeat(id, prose, found)
  local link = id ~= "action-complete" and id ~= "action-abort" and prose.own[id] -- the run ends with those
  local list = prose.facts:best(id, "preconditions")
  if link and list and #list > 0 and not has_prose(list) then
    return true
  elseif link then
    local what = ("action %s: may follow itself, but nothing that can be read would end that"):format(id)
    local fix = "write the precondition that ends it as a condition, or give max_runs in a skill-config.json"
    found:warn("repeat-unread", link, what, "it runs once", fix)
  end
end

-- Keys of the state that the runtime keeps for itself; its books are written for the agent.
-- A context among the updates is merged into the run's.
local BOOKS = { status = true, completed_actions = true, current_action = true, error_count = true, errors = true,
  context = true }

local function tell_reserved(action, found)
  for _, key in ipairs(names.sorted(action.sets)) do
    if key:find("^[%a_][%w_]*%.[%a_]") then
      local what = ("action %s: its agent is told to return the key %s"):format(action.id, names.show(key))
      local place = { file = action.path, line = action.sets[key] }
      found:warn("dotted-key", place, what, "an update under a key with a dot is refused (F36)",
        "nest it: { " .. key:gsub("%.", ": { ") .. ": ... } }")
    elseif state.is_reserved(key) and not BOOKS[key] and not key:find "_at$" then
      local what = ("action %s: sets %s, which only the runtime writes"):format(action.id, names.show(key))
      local place = { file = action.path, line = action.sets[key] }
      found:warn("reserved-field", place, what, "the update is refused and recorded", "call the field something else")
    end
  end
end

---One action as a config holds it.
---@param action skillrt.load.ProseAction
---@param prose skillrt.load.Prose
---@param found skillrt.Findings
---@param configured boolean?  a config names it: one that lists no preconditions has none
---@return table
function M.action(action, prose, found, configured)
  local id, facts = action.id, prose.facts
  local when = conditions_of(id, facts:all(id, "preconditions"), found)
  tell_reserved(action, found)
  if not when and not configured then
    local near = facts:best(id, "nearly")
    local place = { file = action.at.file, line = near and near.line or action.at.line }
    local what = ("action %s: no document lists its preconditions%s"):format(id,
      near and (' (is "%s" meant?)'):format(near.text) or "")
    local fix = "add a section Preconditions with items such as - [ ] `status === 'running'`"
    found:warn("no-preconditions", place, what, "it may run at any time, in the order of the documents", fix)
  end
  return {
    id = id,
    name = facts:best(id, "name"),
    description = facts:best(id, "description"),
    purpose = facts:best(id, "purpose"),
    priority = facts:best(id, "priority"),
    preconditions = when or json.array {},
    effects = effects_of(id, facts, found),
    repeatable = may_repeat(id, prose, found),
  }
end

---The state a run begins with: the document's, else what its types begin with.
---@param prose skillrt.load.Prose
---@param found skillrt.Findings
---@return table? initial  without what the runtime writes
---@return table fields    for state_schema
function M.state(prose, found)
  local said, fields = prose.state, json.array {}
  if not said then
    return nil, fields
  end
  for _, one in ipairs(said.unread) do
    if not (one.key and state.is_reserved(one.key)) then
      local place = { file = prose.state_file, line = one.line }
      local what = ("a value of the initial state is code: %s"):format(one.text)
      found:note("state-unread", place, what, "the run begins without it", "write a literal value")
    end
  end
  if not said.initial then
    for _, field in ipairs(said.fields) do
      if not field.optional and not state.is_reserved(field.name) then
        fields[#fields + 1] = { name = field.name, type = field.type, description = field.description }
      end
    end
    return nil, fields
  end
  local initial = {}
  for key, value in pairs(said.initial) do
    if not state.is_reserved(key) then
      initial[key] = value
    end
  end
  return initial, fields
end

---The termination conditions that can be tested.
---@param prose skillrt.load.Prose
---@param found skillrt.Findings
---@return string[]? conditions  nil: no document lists any
function M.terminate(prose, found)
  local out, seen = json.array {}, {}
  for _, told in ipairs(prose.terminate) do
    local place = { file = told.file, line = told.line }
    if not told.condition then
      local what = ("a termination condition cannot be read: %s (%s)"):format(told.text, told.problem)
      found:warn("termination-unread", place, what, "it ends nothing", "write a condition between backticks")
    elseif not seen[told.condition] and not told.condition:find "status ===? ['\"].-['\"]$" then -- the runtime sets it
      seen[told.condition] = true
      out[#out + 1] = told.condition
    end
  end
  return #out > 0 and out or nil
end

return M
