-- tool/ask_user.lua: an agent's question to a person: in the form that the run asks, the answer in the form that the
-- agent gets, and the tool by which a bare model asks.
--
-- An agent of a workflow script asks no person: the script does. Knows ctx and tasks, no providers.

local cut = require("skillrt.base.text").cut

local M = {}

M.FIELDS = {}

local INPUT <const> = {
  type = "object",
  properties = {
    question = { type = "string", pattern = "[^ ]" },
    options = { type = "array", items = { type = "string" }, description = "the possible answers, if they are few" },
  },
  required = { "question" },
  additionalProperties = false,
}

---Whether anybody can be asked.
---@param ctx table
---@param task skillrt.Task
---@return boolean
function M.may(ctx, task)
  return ctx.ask ~= nil and not task.bare
end

-- The options in a question's form; nil: any text answers.
local function options_of(given)
  local list, seen = {}, {}
  for _, text in ipairs(given or {}) do
    if text:find("%S") and not seen[text] and #list < 20 then
      list[#list + 1], seen[text] = text, true
    end
  end
  return #list > 1 and list or nil
end

---Asks a person, and waits for the answer.
---@param ctx table
---@param header string  who asks, or for what
---@param question { question: string, options: any[]? }
---@return string|nil answer
---@return string? message
---@return skillrt.FailureClass? class
function M.ask(ctx, header, question)
  local answer, message, class = ctx.ask({ header = header, question = question.question, options = question.options })
  if answer == nil then
    return nil, message, class
  end
  return tostring(answer)
end

local function perform(_, ctx, arguments, task)
  if not M.may(ctx, task) then
    return nil, "no person can be asked"
  end
  local question = { question = cut(arguments.question, 4000), options = options_of(arguments.options) }
  local answer, message = M.ask(ctx, task.performer:label(), question)
  return answer, not answer and "no answer: " .. tostring(message) or nil
end

---@param given table
---@return table parts
function M.make(given)
  given.description = given.description
    or "Asks the person a question that you cannot continue without, and returns the answer."
  given.input, given.perform, given.source, given.alone = INPUT, perform, "built in", true
  return given
end

---The answer in words for an agent.
---@param answer string
---@return string
function M.told(answer)
  return "The person answers: " .. answer .. "\nGo on with the task."
end

return M
