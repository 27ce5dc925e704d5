-- run/outcome/meeting.lua: merges a step's updates with what other steps have changed in the state since it started,
-- as the schema says.
--
-- The cost depends on the size of the updates, not of the fields they change. Knows the books and merge rules;
-- records nothing. Used by outcome.lua.

local json = require("skillrt.base.json")
local merge = require("skillrt.skill.merge")
local patch_of = require("skillrt.skill.patch")
local state = require("skillrt.skill.state")

local M = {}

local is_object = patch_of.is_object
local NOTHING <const> = {} -- never written to

-- Whether a patch undoes some of what others changed in a value, so that the order of the two matters. If both are
-- objects, the members that the patch names decide.
local function undoes(base, now, patch)
  if is_object(now) and is_object(patch) then
    base = is_object(base) and base or NOTHING
    for name, value in pairs(patch) do
      if undoes(base[name], now[name], value) then
        return true
      end
    end
    return false
  end
  base = state.copy(base)
  local theirs = not state.equal(now, base) and state.diff({ it = base }, { it = now }).it
  return theirs and not state.equal(state.merge(state.merge(base, patch), theirs), state.merge(now, patch))
end

---The updates of a step, merged with the present state; of a field without a merge rule the last update wins, and its
---name is reported.
---@param run skillrt.Run
---@param step skillrt.Step
---@param updates table
---@return table|nil updates
---@return string|nil problem
---@return string[]|nil replaced
function M.updates(run, step, updates)
  local root, ways = run.books.state.root, run.skill.merge or {}
  local out, replaced = {}, nil
  for key, value in pairs(updates) do
    local way, now, base = ways[key], root[key], step.root[key]
    if way then
      base = state.copy(base)
      if not state.equal(now, base) then -- changes of others elsewhere do not matter
        local problem
        value, problem = merge.value(way, now, base, value)
        if problem then
          return nil, ("update %q: %s"):format(key, problem)
        end
      end
    elseif undoes(base, now, value) then
      replaced = replaced or json.array({})
      replaced[#replaced + 1] = key
    end
    out[key] = value
  end
  if replaced then
    table.sort(replaced)
  end
  return out, nil, replaced
end

return M
