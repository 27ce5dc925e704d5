-- document/load/merge.lua: what a folder's documents say of its actions, as the part of a skill-config that
-- a config would hold. Where documents differ the weightiest is taken; that they do is told, as
-- is all that could not be read.
--
-- Called by sources.lua.
local conditions = require "skillrt.document.load.condition"
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"
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

-- The document that speaks for an action: the weightiest that says anything.
local function weightiest(action, key, least)
  for _, source in ipairs(action.sources) do
    if source[key] and #source[key] >= least then
      return source
    end
  end
  return nil
end

local function tell_unread(action, source, found)
  for _, told in ipairs(source.preconditions) do
    if not told.condition then
      local place = { file = source.file, line = told.line }
      local what = ("action %s: its precondition cannot be read: %s (%s)"):format(action.id, told.text, told.problem)
      local fix = told.hint and ("write `%s`"):format(told.hint) or "write a condition such as `files.length > 0`"
      local why = "what cannot be read lets nothing through: the action waits for it"
      found:warn("condition-unread", place, what, why, fix)
    end
  end
end

local function plain(condition)
  return (condition:gsub("state%??%.", ""):gsub("%s+", ""):gsub('"', "'"):gsub("===", "=="):gsub("!==", "!="))
end

local function set_of(list)
  local set, lines = {}, {}
  for _, told in ipairs(list) do
    if told.condition then
      set[plain(told.condition)] = true
      lines[#lines + 1] = "`" .. told.condition .. "`"
    end
  end
  return set, table.concat(lines, " and ")
end

local function same(a, b)
  for key in pairs(a) do
    if not b[key] then
      return false
    end
  end
  return next(a) ~= nil or next(b) == nil
end

local function tell_differing(action, source, found)
  local mine, text = set_of(source.preconditions)
  for _, other in ipairs(action.sources) do
    if other ~= source and other.preconditions then
      local theirs, said = set_of(other.preconditions)
      local summary = other.from == "table" and next(mine) ~= nil -- tables leave out what goes without saying
      if not (same(theirs, mine) and (summary or same(mine, theirs))) and not has_prose(other.preconditions) then
        local what = ("action %s: its preconditions here (%s) differ from %s:%d (%s)"):format(
          action.id,
          said ~= "" and said or "none",
          source.file,
          source.preconditions_line or source.line or 1,
          text ~= "" and text or "none"
        )
        local why = ("%s is what runs"):format(source.file)
        local place = { file = other.file, line = other.line }
        found:warn("condition-differs", place, what, why, "say it in one place, or the same in both")
      end
    end
  end
end

local function conditions_of(action, found)
  local source = weightiest(action, "preconditions", 0)
  if not source then
    return nil
  end
  tell_unread(action, source, found)
  tell_differing(action, source, found)
  local out = json.array {}
  for _, told in ipairs(source.preconditions) do
    out[#out + 1] = told.condition or conditions.judged(told.text)
  end
  return out, source
end

local function effects_of(action, found)
  local out, seen = json.array {}, {}
  local source = weightiest(action, "effects", 1)
  for _, told in ipairs(source and source.effects or {}) do
    if told.effect and not seen[told.effect] then
      seen[told.effect] = true
      out[#out + 1] = told.effect
    elseif not told.effect then
      local what = ("action %s: its effect cannot be read: %s"):format(action.id, told.text)
      local place = { file = source.file, line = told.line }
      found:note("effect-unread", place, what, "it is not checked", "write `key=value`, `key++` or `key.length>0`")
    end
  end
  return out
end

local function first_of(action, key)
  for _, source in ipairs(action.sources) do
    if source[key] then
      return source[key]
    end
  end
  return nil
end

-- "go on with the same action" is a promise that it may run again, but only a condition that can
-- be read ends that.
local function may_repeat(action, prose, source, found)
  if action.id == "action-complete" or action.id == "action-abort" then
    return false -- the run ends with them
  end
  local link = prose.own[action.id]
  if not link then
    return false
  elseif source and #source.preconditions > 0 and not has_prose(source.preconditions) then
    return true
  end
  local what = ("action %s: may follow itself, but nothing that can be read would end that"):format(action.id)
  local fix = "write the precondition that ends it as a condition, or give max_runs in a skill-config.json"
  found:warn("repeat-unread", link, what, "it runs once", fix)
  return false
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
  local when, source = conditions_of(action, found)
  local own = action.sources[1] or {}
  tell_reserved(action, found)
  if not when and not configured then
    local near = first_of(action, "nearly")
    local place = { file = own.file, line = near and near.line or own.line }
    local what = ("action %s: no document lists its preconditions%s"):format(action.id,
      near and (' (is "%s" meant?)'):format(near.text) or "")
    local fix = "add a section Preconditions with items such as - [ ] `status === 'running'`"
    found:warn("no-preconditions", place, what, "it may run at any time, in the order of the documents", fix)
  end
  return {
    id = action.id,
    name = first_of(action, "name"),
    description = first_of(action, "description"),
    purpose = first_of(action, "purpose"),
    priority = first_of(action, "priority"),
    preconditions = when or json.array {},
    effects = effects_of(action, found),
    repeatable = may_repeat(action, prose, source, found) or nil,
  }
end

local function is_reserved(key)
  return state.is_reserved(key)
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
    if not (one.key and is_reserved(one.key)) then
      local place = { file = prose.state_file, line = one.line }
      local what = ("a value of the initial state is code: %s"):format(one.text)
      found:note("state-unread", place, what, "the run begins without it", "write a literal value")
    end
  end
  if not said.initial then
    for _, field in ipairs(said.fields) do
      if not field.optional and not is_reserved(field.name) then
        fields[#fields + 1] = { name = field.name, type = field.type, description = field.description }
      end
    end
    return nil, fields
  end
  local initial = {}
  for key, value in pairs(said.initial) do
    if not is_reserved(key) then
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
    local status = told.condition and told.condition:match "status ===? ['\"](.-)['\"]$"
    if not told.condition then
      local what = ("a termination condition cannot be read: %s (%s)"):format(told.text, told.problem)
      found:warn("termination-unread", place, what, "it ends nothing", "write a condition between backticks")
    elseif status then
      local what = ("termination condition %s: only the runtime sets the status"):format(told.condition)
      found:note("termination-status", place, what, "it ends the run by itself")
    elseif not seen[told.condition] then
      seen[told.condition] = true
      out[#out + 1] = told.condition
    end
  end
  return #out > 0 and out or nil
end

return M
