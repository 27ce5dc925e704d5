-- agent/reply.lua: the meaning of an agent's answer (R64): which object of a reply is the answer (F25), what its
-- status means (F18), and what of it enters the step.
--
-- An answer is data: reserved fields are judged later, by the state. Knows no kinds of agents.

local failure = require("skillrt.agent.failure")
local extract = require("skillrt.agent.extract")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local question_of = require("skillrt.skill.question")
local usage = require("skillrt.agent.usage")

local M = {}

local STATUS = {
  completed = "completed",
  complete = "completed",
  success = "completed",
  succeeded = "completed",
  ok = "completed",
  done = "completed",
  done_with_concerns = "completed",
  partial = "partial",
}

local FAILED = {
  failed = "it failed",
  failure = "it failed",
  error = "it failed",
  aborted = "it gave up",
  blocked = "it is blocked",
  needs_context = "it needs more context",
}

-- The agent found nothing to do: the step is skipped, as by a condition.
local SKIPPED = { skipped = true, skip = true }

local KINDS = {
  status = "string",
  stateUpdates = "object",
  summary = "string",
  context = "object",
  output_file = "string",
}

-- The fields of an answer; anything else is no part of it.
local ANSWER = {}
for name in ([[status stateUpdates summary context output output_file concerns error errors message
  reason retryable class used]]):gmatch("%S+") do
  ANSWER[name] = true
end

local function invalid(message)
  return nil, { class = "invalid_output", message = message, form = true }
end

local is_object = json.is_object

local function status_word(object)
  return type(object.status) == "string" and object.status:lower() or nil
end

-- Whether the status is one that answers use.
local function says_status(object)
  local word = status_word(object)
  return word ~= nil and (STATUS[word] or FAILED[word] or SKIPPED[word]) ~= nil
end

---Whether an object has the form of a step's answer.
---@param object table
---@return boolean
function M.is_answer(object)
  return is_object(object) and (is_object(object.stateUpdates) or says_status(object))
end

-- An object among other words is the answer if it holds more than a status: a lone status may be anything that the
-- agent looked at.
local function speaks_for_itself(object)
  if object.stateUpdates ~= nil then
    return true
  elseif type(object.status) ~= "string" then
    return false
  end
  for name in pairs(ANSWER) do
    if name ~= "status" and object[name] ~= nil then
      return true
    end
  end
  return false
end

local function in_chat(text)
  local answer, count, others = nil, 0, 0
  local complete, why = extract.each_object(text, function(object)
    if speaks_for_itself(object) then
      answer, count = object, count + 1
    else
      others = others + 1
    end
  end)
  if count == 1 and complete then
    return answer
  elseif count > 1 then
    return nil, ("the reply holds %d JSON objects that could be the answer"):format(count)
  elseif not complete then
    return nil, why
  elseif others > 0 then
    return nil, 'no JSON object in the reply has "stateUpdates", or "status" with a summary or output'
  end
  return nil, text:find("%S") and "the reply contains no complete JSON object" or "the reply is empty"
end

---The only object of a text that is an answer or reports an error.
---@param text string
---@return table? object
---@return string? problem
function M.find(text)
  local whole = extract.whole(text)
  if whole == nil then
    return in_chat(text)
  elseif not is_object(whole) then
    return nil, "the reply is JSON, but not an object"
  elseif not (whole.status ~= nil or whole.stateUpdates ~= nil or whole.question ~= nil or failure.in_value(whole)) then
    return nil, 'the reply has neither "status" nor "stateUpdates"'
  end
  return whole
end

-- The fields without null; or which one has the wrong type.
local function typed(object)
  local out = {}
  for name, value in pairs(object) do
    if value ~= json.null then
      local wanted = KINDS[name]
      local fits = not wanted or type(value) == wanted or (wanted == "object" and is_object(value))
      if not fits then
        local array = json.is_array(value)
        return nil, ('"%s" must be %s, not %s'):format(name, wanted == "object" and "an object" or "a text",
          array and "an array" or names.show(value))
      end
      out[name] = value
    end
  end
  return out
end

-- An output file's path relative to the work directory.
local function output_file(path, task)
  local base = task.store:path():gsub("/+$", "") .. "/"
  if path:sub(1, #base) == base then
    path = path:sub(#base + 1)
  end
  return names.confined(path)
end

-- A question for a person instead of an answer: a text, or a table for ctx.ask; nil: nothing is asked.
local function asks(answer)
  local asked = answer.question
  if asked == nil and status_word(answer) == "needs_context" then
    asked = failure.reason(answer)
  end
  if asked == nil then
    return nil
  end
  local question = { question = asked, options = answer.options }
  if is_object(asked) then
    question = { header = asked.header, question = asked.question, options = asked.options or answer.options }
  end
  local message
  question, message = question_of.check(question)
  if not question then
    return invalid("its question is invalid: " .. message)
  end
  local told = { class = "permanent", message = "it asks a question that has no answer here: " .. question.question }
  told.question = question
  return nil, told
end

-- A status that is no success, with the reason in the agent's own words.
local function failed(answer)
  local why = failure.reason(answer) or FAILED[status_word(answer)] or "this status is not known"
  return nil, failure.told(answer, ("status %s: %s"):format(names.show(answer.status), why))
end

-- The names of fields that are no part of an answer.
local function beside(answer)
  local list = {}
  for name in pairs(answer) do
    list[#list + 1] = not ANSWER[name] and name or nil
  end
  table.sort(list)
  return list
end

local function has_substance(answer)
  return answer.stateUpdates ~= nil or answer.output ~= nil or answer.output_file ~= nil or answer.context ~= nil
end

-- Names that are ignored when they stand next to updates or an output; alone they hold the answer, in the wrong
-- place.
local function misplaced(answer, task)
  local list = beside(answer)
  if #list == 0 or has_substance(answer) then
    return nil, list[1] and list or nil
  end
  local place = task.kind == "phase" and "output" or "stateUpdates"
  return ('%s next to "status" is ignored; write it into "%s"'):format(names.show(list[1]), place)
end

-- What an answer reports it used, whatever else it says; nil: nothing that can be counted.
local function used_of(object)
  return is_object(object.used) and usage.check(object.used) or nil
end

local function outcome_of(object, task)
  local answer, problem = typed(object)
  if not answer then
    return invalid(problem)
  end
  local word = status_word(answer)
  if word == "needs_context" or (answer.question ~= nil and not word and answer.stateUpdates == nil) then
    local _, asked = asks(answer)
    if asked then
      return nil, asked
    end
  end
  if SKIPPED[word] then
    return nil, { class = "skipped", message = failure.reason(answer) or "the agent skipped it" }
  elseif word and not STATUS[word] then
    return failed(answer)
  end
  local error_said = failure.in_value(answer)
  if error_said then
    return nil, error_said
  elseif not word and answer.stateUpdates == nil then
    return invalid('the reply has neither "status" nor "stateUpdates"')
  end
  local file, left_out
  problem, left_out = misplaced(answer, task)
  if not problem and answer.output_file then
    file, problem = output_file(answer.output_file, task)
    problem = problem and '"output_file" ' .. problem
  end
  if problem then
    return invalid(problem)
  end
  return {
    status = word and STATUS[word] or "completed",
    updates = answer.stateUpdates,
    summary = failure.words(answer.summary),
    output = answer.output,
    context = answer.context,
    output_file = file,
    concerns = failure.words(answer.concerns) or (word == "done_with_concerns" and "done with concerns") or nil,
    ours = "ours",
  }, nil, left_out
end

---The meaning of an answer, with `used`: what it reports it used.
---@param object table  the decoded answer, which the caller may change
---@param task skillrt.Task
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
---@return string[]? left_out  names of fields that no answer has
function M.outcome(object, task)
  local outcome, failed_so, left_out = outcome_of(object, task);
  (outcome or failed_so).used = used_of(object)
  return outcome, failed_so, left_out
end

-- Data is the output of a phase, and the updates of an action.
local function data_outcome(value, task)
  if task.kind == "phase" then
    return { status = "completed", output = value, ours = "ours" }
  elseif not is_object(value) then
    local shown = type(value) == "table" and "an array" or value == json.null and "null" or names.show(value)
    return invalid("the output must end with a JSON object of updates, not " .. shown)
  end
  return { status = "completed", updates = value, ours = "ours" }
end

-- The data next to a status, without the other fields of an answer.
local function data_beside(object)
  local data = {}
  for _, name in ipairs(beside(object)) do
    data[name] = object[name]
  end
  return data
end

---The meaning of JSON that a program printed. It is an answer if it has "stateUpdates" or a status that answers use;
---the data next to such a status, or any other JSON at the end of the output, is the result itself.
---@param text string
---@param task skillrt.Task
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
---@return string[]? left_out
function M.printed(text, task)
  local value = extract.at_end(text)
  if value == nil then
    local answer, problem = in_chat(text)
    if answer then
      return M.outcome(answer, task)
    end
    return invalid(problem)
  elseif not is_object(value) then
    return data_outcome(value, task)
  end
  local is_answer = is_object(value.stateUpdates) or says_status(value)
  local error_said = failure.in_value(value)
  if error_said and not is_answer then
    return nil, error_said
  elseif not is_answer then
    return data_outcome(value, task)
  elseif error_said or FAILED[status_word(value)] or has_substance(value) or #beside(value) == 0 then
    return M.outcome(value, task)
  end
  local outcome = data_outcome(data_beside(value), task)
  outcome.status = STATUS[status_word(value)]
  outcome.summary = failure.words(value.summary)
  return outcome
end

---The failure that a program printed on standard output before it ended badly; nil: none.
---@param text string
---@return skillrt.Failure?
function M.told_failure(text)
  local value = extract.at_end(text)
  if not is_object(value) then
    return nil
  elseif FAILED[status_word(value)] then
    local _, told = failed(value)
    return told
  end
  return failure.in_value(value)
end

return M
