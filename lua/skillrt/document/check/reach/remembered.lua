-- document/check/reach/remembered.lua: a function of an integer as a table that works out each answer once.
--
-- So that a search only reads it. Beyond a limit it works answers out each time. Called by
-- reach/rows.lua and reach/machine.lua.
local MAX_KEPT = 8192

---@param work_out fun(asked: integer): boolean|integer[]
---@return table<integer, boolean|integer[]>
return function(work_out)
  local room = MAX_KEPT
  return setmetatable({}, {
    __index = function(answers, asked)
      local answer = work_out(asked)
      room = room - (answer and answer ~= true and #answer or 1)
      if room >= 0 then
        answers[asked] = answer
      end
      return answer
    end,
  })
end
