-- agent/answer.lua: what the final words of a model or a coding agent mean for its task: a text is the result
-- of a plain task, a value that fits the schema where one was asked for, else the object of a step.
--
-- Pure. Knows tasks and schemas, no providers.

local expect = require("skillrt.agent.expect")
local extract = require("skillrt.agent.extract")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local plain = require("skillrt.agent.plain")
local reply_of = require("skillrt.agent.reply")

local M = {}

---The outcome of a value that fits the schema.
---@param value any
---@param task skillrt.Task
---@return skillrt.Outcome
function M.value(value, task)
  local is_updates = task.kind ~= "phase" and json.is_object(value)
  return { status = "completed", output = value, updates = is_updates and value or nil }
end

local function invalid(message)
  return nil, { class = "invalid_output", message = message, form = true }
end

local function in_schema(text, task, schema)
  local value, problem = extract.whole(text)
  if value == nil then -- words around it
    value = extract.at_end(text)
  end
  if value == nil then
    return invalid(problem)
  end
  local fits, why = json_schema.judge(schema, value)
  if not fits then
    return invalid(why)
  end
  return M.value(value, task)
end

---What the last words of a plain task mean: an answer as steps give it, a question, or the result itself.
---@param text string
---@param task skillrt.Task
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure  with `question`
---@return string[]? left_out
function M.plain(text, task)
  local object = text:find("^%s*[{`]") and extract.whole(text)
  if type(object) == "table" and reply_of.is_answer(object) then
    return reply_of.outcome(object, task)
  end
  local good, problem = expect.judge("text", "command", { status = "ok", code = 0, body = text })
  if not good then
    return nil, problem
  end
  local question = plain.question(text)
  if question then
    return nil, { class = "permanent", message = "it asks: " .. question, question = { question = question } }
  end
  return { status = "completed", output = text }
end

---What a final text means.
---@param text string
---@param task skillrt.Task
---@param schema table?
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
---@return string[]? left_out
function M.text(text, task, schema)
  if schema then
    return in_schema(text, task, schema)
  elseif task.answer == "text" then
    return M.plain(text, task)
  end
  local object, problem = reply_of.find(text)
  if not object then
    return invalid(problem)
  end
  return reply_of.outcome(object, task)
end

return M
