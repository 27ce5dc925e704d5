-- cli/mcp/elicitation.lua: a run's question as an MCP elicitation, the meaning of the client's reply, and putting the
-- answer into the run's inbox.

local cut = require("skillrt.base.text").cut
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local questions = require("skillrt.run.questions")
local store = require("skillrt.run.store")

local M = {}

local LONGEST <const> = 80 << 10 -- maximal bytes of the text; the arguments of an approval are shorter

---What a client shows the person.
---@param one table  { q, question }
---@param id string  of the run
---@return table params  of elicitation/create
function M.elicitation(one, id)
  local question = one.question
  local lines = { question.question, question.detail }
  local text = ("%s asks (question %d): %s"):format(id, one.q, table.concat(lines, "\n"))
  local answer = { type = "string", title = "Answer" }
  if question.options and #question.options > 0 then
    answer.enum, answer.enumNames = json.array({}), json.array({})
    for i, option in ipairs(question.options) do
      answer.enum[i] = tostring(option.id)
      answer.enumNames[i] = option.description and ("%s: %s"):format(option.label, option.description) or option.label
    end
  elseif type(question.edit) == "string" then
    answer.default = question.edit
  end
  return { mode = "form", message = cut(text, LONGEST),
    requestedSchema = { type = "object", properties = { answer = answer }, required = json.array({ "answer" }) } }
end

---The answer in a client's reply; nil: the person gave none.
---@param result any
---@return any
function M.given(result)
  if type(result) ~= "table" or result.action ~= "accept" or type(result.content) ~= "table" then
    return nil
  end
  return result.content.answer
end

---Answers an open question.
---@param dir string
---@param number integer|nil  which, where there are several
---@param value any
---@param approval string|nil  the digest of what is approved
---@return boolean|nil ok
---@return string? message
function M.answer(dir, number, value, approval)
  local books, why = look.books(dir)
  local meant
  if books then
    meant, why = questions.meant(books, { question = number, approval = approval, value = tostring(value) })
  end
  if not meant then
    return nil, why --[[@as string]]
  end
  local name, message = store.at(dir):put({ answer = meant.value, question = meant.question, nonce = meant.nonce,
    approval = approval })
  return name ~= nil, message
end

return M
