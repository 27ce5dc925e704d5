-- document/check/conditions.lua: conditions that are never or always true, and keys that are neither declared nor
-- set.
--
-- Knows the model, no files. Called by document/check/init.lua.
local names = require "skillrt.base.names"
local expr = require "skillrt.expr"
local tables = require "skillrt.base.tables"

local M = {}

local JUDGED <const> = require("skillrt.document.load.condition").JUDGED

-- Whether a condition is constant; cached, as actions share conditions.
local function constant(condition, known)
  if type(condition) ~= "table" then
    return false
  elseif known[condition] == nil then
    known[condition] = { value = expr.constant(condition) }
  end
  return known[condition].value
end

local function check_one(one, owner, found, place, constants)
  for _, condition in ipairs(one.when) do
    local known = constant(condition, constants)
    if known ~= nil and known ~= false or known == false and type(condition) == "table" then
      local what = ("%s: condition `%s` %s"):format(owner, condition.text,
        known and "holds in every state" or "never holds")
      found:add(known and "condition.always" or "condition.never", place(condition.text), what)
    end
  end
end

local function each(model, visit)
  for _, one in ipairs(model.steps) do
    visit(one, ('%s "%s"'):format(one.kind, one.id), function(text)
      return model.place(text, one.id, one.kind)
    end)
  end
  for _, one in ipairs(model.ends) do
    visit(one, "terminate", function(text)
      return model.place(text)
    end)
  end
end

-- Who reads each key of the skill's own.
local function readers_of(model)
  local readers, order = {}, {}
  each(model, function(one, owner, place)
    for _, condition in ipairs(one.when) do
      for _, key in ipairs(type(condition) == "table" and condition.reads or {}) do
        if not model.is_reserved(key) and key ~= JUDGED then
          if not readers[key] then
            readers[key] = { place = place, condition = condition }
            order[#order + 1] = key
          end
          local list = readers[key]
          if list[#list] ~= owner then
            list[#list + 1] = owner
          end
        end
      end
    end
  end)
  return readers, order
end

local function setters_of(model)
  local setters, code = {}, false
  for _, one in ipairs(model.steps) do
    for _, effect in ipairs(one.effects) do
      setters[effect.key] = true
    end
    code = code or type(one.run) == "function"
  end
  return setters, code
end

local function named(list)
  local shown = table.concat(list, ", ", 1, math.min(#list, 4))
  return #list > 4 and ("%s and %d more"):format(shown, #list - 4) or shown
end

-- Keys that a document's list of fields names; the list promises no types, so it is no schema.
local function fields_of(subject)
  local said = subject.prose and subject.prose.state
  return tables.by(said and said.fields, "name")
end

local function check_keys(subject, model, found)
  local readers, order = readers_of(model)
  local setters, code = setters_of(model)
  local known = {}
  for _, set in ipairs { model.state, model.schema, fields_of(subject), setters } do
    for key in pairs(set) do
      known[key] = true
    end
  end
  for _, key in ipairs(order) do
    local who = readers[key]
    if not known[key] then
      local condition, meant = who.condition, names.meant(key, known)
      if meant == "" and condition.text:find("%f[%w_]" .. key .. "%s*===?%s*['\"]") then
        meant = (" (is input.%s meant, as given by --set %s=...?)"):format(key, key)
      end
      local dead = condition(model.state) ~= true and ("; until an agent happens to set it, `%s` is false"):format(
        condition.text) or ""
      local what = 'key "%s" is read by %s, but neither state, schema nor any effect names it%s%s'
      found:add("key.undeclared", who.place(condition.text), what:format(key, named(who), meant, dead),
        { level = code and meant == "" and "note" or nil })
    end
  end
end

---@param subject skillrt.check.Subject
---@param model skillrt.check.Model
---@param found skillrt.Findings
function M.check(subject, model, found)
  local constants = {}
  each(model, function(one, owner, place)
    check_one(one, owner, found, place, constants)
  end)
  check_keys(subject, model, found)
end

return M
