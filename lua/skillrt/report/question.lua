-- report/question.lua: open questions as people see them: one with its options, several as a list.
--
-- skill/question.lua says which values answer a question. Called by cli/ending.lua and report/status.lua.

local tables = require("skillrt.base.tables")
local text_of = require("skillrt.base.terminal_text")

local M = {}

local SHOWN <const> = 200
local WHOLE <const> = 5 -- how many questions are shown with their options

local function head_of(question)
  local header = question.header
  return header and header ~= "" and text_of.escape(tostring(header)) .. ": " or ""
end

---The lines of a question.
---@param question table  shown if there are several
---@param number integer?  said where there are several
---@return string[]
function M.lines(question, number)
  local list = {}
  local head = (number and ("%d) "):format(number) or "") .. head_of(question)
  local text = tostring(question.question or "")
  for i, line in ipairs(text_of.lines(text)) do
    list[#list + 1] = (i == 1 and head or "  ") .. line
  end
  for _, line in ipairs(question.detail and text_of.lines(question.detail) or {}) do
    list[#list + 1] = "    " .. line
  end
  if question.approval then
    list[#list + 1] = "    (sha256 " .. text_of.escape(tostring(question.approval)) .. ")"
  end
  local options = question.options or {}
  for i = 1, math.min(#options, SHOWN) do
    local option = options[i]
    local label = text_of.escape(tostring(option.label or option.id))
    local description = option.description and tostring(option.description) or ""
    list[#list + 1] = ("  %d. %s%s"):format(i, label, description ~= "" and " - " .. text_of.escape(description) or "")
  end
  for i, line in ipairs(question.edit and text_of.lines(question.edit) or {}) do
    list[#list + 1] = (i == 1 and "  suggested: " or "    ") .. line
  end
  if question.multiple then
    list[#list + 1] = "  choose one or more: 1,2"
  end
  local more = math.max(0, #options - SHOWN) + (math.tointeger(question.more) or 0)
  if more > 0 then
    list[#list + 1] = ("  and %d more; an id also works"):format(more)
  end
  return list
end

---For programs: an answer names the number.
---@param one table  an open question of the books
---@param id string?  of its step
---@return table
function M.told(one, id)
  local iso = require("skillrt.base.instant").iso
  return { q = one.q, question = one.question, nonce = one.nonce, step = one.step, id = id,
    asked_at = one.at and iso(one.at) or nil, due = one.due and iso(one.due) or nil }
end

-- A question in one line, and how to answer it.
local function in_short(question, number)
  local ids = {}
  for i, option in ipairs(question.options or {}) do
    ids[i] = tostring(option.id)
    if i == 6 then
      break
    end
  end
  local answers = #ids > 0 and #ids < 6 and (" [%s]"):format(text_of.escape(table.concat(ids, "|"))) or ""
  local first = text_of.lines(tostring(question.question or ""))[1] or ""
  return ("%d) %s%s%s"):format(number, head_of(question), first, answers)
end

---The lines of all open questions.
---@param open table[]  { q, question }
---@return string[]
function M.all(open)
  if #open == 1 then
    return M.lines(open[1].question)
  end
  local list = {}
  for _, one in ipairs(open) do
    if #open > WHOLE and not one.question.approval then
      list[#list + 1] = in_short(one.question, one.q)
    else
      local lines = M.lines(one.question, one.q)
      tables.append(list, lines)
    end
  end
  return list
end

return M
