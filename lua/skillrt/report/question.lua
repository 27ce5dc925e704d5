-- report/question.lua: an open question as people see it, and their answer as the run takes it.
--
-- The answer is the option's id or its number; without options any text. Called by
-- cli/ending.lua, cmd/answer.lua and report/status.lua.

local text_of = require("skillrt.report.text")

local M = {}

local SHOWN = 200

---The lines of a question.
---@param question table  { header, question, options = { { id, label, description } }, more }
---@return string[]
function M.lines(question)
  local list = {}
  local head = question.header and question.header ~= "" and text_of.escape(tostring(question.header)) .. ": " or ""
  for i, line in ipairs(text_of.lines(tostring(question.question or ""))) do
    list[#list + 1] = (i == 1 and head or "  ") .. line
  end
  local options = question.options or {}
  for i = 1, math.min(#options, SHOWN) do
    local option = options[i]
    local label = text_of.escape(tostring(option.label or option.id))
    local description = option.description and tostring(option.description) or ""
    list[#list + 1] = ("  %d. %s%s"):format(i, label, description ~= "" and " - " .. text_of.escape(description) or "")
  end
  local more = math.max(0, #options - SHOWN) + (math.tointeger(question.more) or 0)
  if more > 0 then
    list[#list + 1] = ("  and %d more; an id is taken too"):format(more)
  end
  return list
end

local function taken(options)
  local ids = {}
  for i = 1, math.min(#options, 20) do
    ids[i] = ("%d (%s)"):format(i, text_of.escape(tostring(options[i].id)))
  end
  return table.concat(ids, ", ") .. (#options > 20 and ", ..." or "")
end

---What an answer means: an option's id by its name or number.
---@param question table
---@param text string
---@return any value
---@return string? message
function M.value(question, text)
  local options = question.options or {}
  if #options == 0 then
    return text
  end
  for _, option in ipairs(options) do
    if tostring(option.id) == text then
      return option.id
    end
  end
  local chosen = text:find("^%d+$") and options[tonumber(text)]
  if chosen then
    return chosen.id
  elseif (question.more or 0) ~= 0 then
    return text -- one of those that are not listed; the run checks it
  end
  return nil, ("there is no option %s; there are: %s"):format(text_of.escape(text), taken(options))
end

return M
