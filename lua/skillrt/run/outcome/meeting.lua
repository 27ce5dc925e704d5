-- run/outcome/meeting.lua: updates of a step that meet what other steps have made of the state since it began:
-- merged as the schema says.
--
-- Knows the books and ways of merging; records nothing. Used by outcome.lua.

local json = require("skillrt.base.json")
local merge = require("skillrt.skill.merge")
local state = require("skillrt.skill.state")

local M = {}

-- Whether a patch undoes some of what others made of a value: whether it matters which of both comes last.
local function undoes(base, now, patch)
  local theirs = state.diff({ it = base }, { it = now }).it
  return not state.equal(state.merge(state.merge(base, patch), theirs), state.merge(now, patch))
end

---The updates of a step as they meet the present state; of a field that the schema says nothing of the last
---one counts, and is named.
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
    local way, now, base = ways[key], root[key], state.copy(step.root[key])
    local met = not state.equal(now, base) -- what others changed elsewhere makes no difference
    if met and way then
      local problem
      value, problem = merge.value(way, now, base, value)
      if problem then
        return nil, ("update %q: %s"):format(key, problem)
      end
    elseif met and undoes(base, now, value) then
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
