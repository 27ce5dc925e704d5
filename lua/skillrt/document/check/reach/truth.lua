-- document/check/reach/truth.lua: whether a term of a condition is true if only the possible classes of its variables
-- are known.
--
-- Three readings: "first": the initial state, where every value is known; "may": some of the classes make it true;
-- "must": all of them do. Knows terms and variables, no states. Called by space, search, relaxed and the graph.
local values = require "skillrt.document.check.reach.values"

local M = {}

---@alias skillrt.check.Reading "first"|"may"|"must"

-- Whether a term is true for one class of each of its variables.
local function holds_for(term, variables, chosen)
  return term.holds(values.state(term, function(name)
    return variables[name].classes[chosen[name]]
  end)) == true
end

---@param term skillrt.check.Term
---@param variables table<string, skillrt.check.Variable>
---@param reading skillrt.check.Reading
---@param classes_of fun(name: string): integer[]  the classes a variable may have
---@return boolean
function M.holds(term, variables, reading, classes_of)
  if reading == "first" and term.initially ~= nil then
    return term.initially
  elseif term.opaque then
    return reading ~= "must"
  end
  local decides, chosen = reading ~= "must", {} -- one combination decides
  local function try(k)
    local name = term.vars[k]
    if not name then
      return holds_for(term, variables, chosen)
    end
    for _, class in ipairs(classes_of(name)) do
      chosen[name] = class
      if try(k + 1) == decides then
        return decides
      end
    end
    return not decides
  end
  return try(1)
end

---Whether certain classes of a variable help a term: with them the term is true, and with another class it would not
---be.
---@param term skillrt.check.Term
---@param variables table<string, skillrt.check.Variable>
---@param name string
---@param classes integer[]
---@return boolean
function M.helps(term, variables, name, classes)
  local chosen = {}
  local function any(list, wanted)
    for _, class in ipairs(list) do
      chosen[name] = class
      if holds_for(term, variables, chosen) == wanted then
        return true
      end
    end
    return false
  end
  local function try(k)
    local other = term.vars[k]
    if not other then
      return any(classes, true) and any(values.all(variables[name]), false)
    elseif other == name then
      return try(k + 1)
    end
    for class = 1, #variables[other].classes do
      chosen[other] = class
      if try(k + 1) then
        return true
      end
    end
    return false
  end
  return not term.opaque and try(1)
end

return M
