-- run/question.lua: what a question to a person is, and which values answer it.
--
-- Pure. A question offers options, or takes a text; it is the same whoever asks it: a step, a call in doubt,
-- a strategy.

local names = require("skillrt.base.names")

local M = {}

local SHOWN <const> = 20

-- "1 (retry), 2 (skip)"
local function offered(options)
  local ids = {}
  for i = 1, math.min(#options, SHOWN) do
    ids[i] = ("%d (%s)"):format(i, tostring(options[i].id))
  end
  return table.concat(ids, ", ") .. (#options > SHOWN and ", ..." or "")
end

---Why a value is no answer to a question; nil: it is one.
---@param question table  { options, more }
---@param value any
---@return string|nil
function M.refusal(question, value)
  local options = question.options or {}
  if #options == 0 then
    return type(value) ~= "string" and ("%s is no text"):format(names.show(value)) or nil
  end
  for _, option in ipairs(options) do
    if option.id == value then
      return nil
    end
  end
  if (question.more or 0) > 0 and type(value) == "string" then
    return nil -- one of those that are not listed; who asked checks it
  end
  return ("there is no option %s; there are: %s"):format(names.show(value), offered(options))
end

---What a person's words mean: an option's id by itself or by its number; a text where there are no options.
---@param question table
---@param text string
---@return any value
---@return string? message
function M.value(question, text)
  local options = question.options or {}
  for _, option in ipairs(options) do
    if tostring(option.id) == text then
      return option.id
    end
  end
  local chosen = text:find("^%d+$") and options[tonumber(text)]
  if chosen then
    return chosen.id
  end
  local why = M.refusal(question, text)
  if why then
    return nil, why
  end
  return text
end

return M
