-- agent/reply.lua: what an agent's answer means (R64): finds its one JSON object in plain,
-- fenced or chatty text or in server-sent events (F25), and maps every status (F18).
--
-- An answer is data: nothing in it is run, and reserved fields are judged later, by the state.
-- Called by agent.lua and agent/command.lua.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")

local M = {}

M.array = json.array

-- Bounds of the search, so that no reply can hold up the loop.
local MAX_DEPTH = 200
local MAX_STEPS = 1000000
local MAX_TRIED = 64 * 1024 * 1024

-- Where the object that opens at `at` closes; nil: nowhere.
local function closing(text, at, budget)
  local depth, pos = 0, at
  while budget.steps > 0 do
    budget.steps = budget.steps - 1
    local found = text:find('[{}"]', pos)
    if not found then
      return nil
    end
    local byte = text:byte(found)
    if byte == 123 then
      depth = depth + 1
      if depth > MAX_DEPTH then
        return nil
      end
    elseif byte == 125 then
      depth = depth - 1
      if depth == 0 then
        return found
      end
    else
      repeat
        budget.steps = budget.steps - 1
        found = text:find('["\\]', found + 1)
        local escaped = found and text:byte(found) == 92
        found = found and escaped and found + 1 or found
      until not escaped or not found or budget.steps <= 0
      if not found then
        return nil
      end
    end
    pos = found + 1
  end
  return nil
end

local function decode_object(text)
  local value = json.decode(text)
  if type(value) == "table" and not json.is_array(value) then
    return value
  end
  return nil
end

---Calls `visit` with every JSON object that stands in a text and in no other object.
---@param text string
---@param visit fun(object: table)
---@return boolean whole  false: the search was given up
function M.each_object(text, visit)
  local budget, tried, pos = { steps = MAX_STEPS }, 0, 1
  while true do
    local at = text:find("{", pos, true)
    if not at then
      return true
    end
    local last = closing(text, at, budget)
    tried = tried + (last or at) - at
    if budget.steps <= 0 or tried > MAX_TRIED then
      return false
    end
    local object = last and decode_object(text:sub(at, last))
    if object then
      visit(object)
    end
    pos = object and last + 1 or at + 1
  end
end

---The last object of a text, by preference its last line.
---@param text string
---@return table?
function M.last_object(text)
  local line = text:match("([^\r\n]*)%s*$")
  local object = line and line:find("^%s*{") and decode_object(line)
  if not object then
    M.each_object(text, function(found)
      object = found
    end)
  end
  return object or nil
end

local function is_answer(object)
  return object.status ~= nil or object.stateUpdates ~= nil
end

---The one object of a text that is an answer.
---@param text string
---@return table? object
---@return string? problem
function M.find(text)
  local whole = text:find("^%s*{") and decode_object(text)
  if whole then
    if is_answer(whole) then
      return whole
    end
    return nil, 'the reply has neither "status" nor "stateUpdates"'
  end
  local found, count, others = nil, 0, 0
  local complete = M.each_object(text, function(object)
    if is_answer(object) then
      found, count = object, count + 1
    else
      others = others + 1
    end
  end)
  if count == 1 and complete then
    return found
  elseif count > 1 then
    return nil, ("the reply holds %d JSON objects that could be the answer"):format(count)
  elseif not complete then
    return nil, "the reply is too tangled to find its JSON object"
  elseif others > 0 then
    return nil, 'no JSON object in the reply has "status" or "stateUpdates"'
  end
  return nil, text:find("%S") and "the reply holds no whole JSON object" or "the reply is empty"
end

-- The data of each server-sent event, in order.
local function events(body)
  local list, data = {}, nil
  for line in (body:gsub("\r\n?", "\n") .. "\n\n"):gmatch("([^\n]*)\n") do
    if line == "" then
      list[#list + 1] = data and table.concat(data, "\n")
      data = nil
    else
      local value = line:match("^data: ?(.*)$")
      if value then
        data = data or {}
        data[#data + 1] = value
      end
    end
  end
  return list
end

---The answer in a stream of server-sent events: the last event that holds one.
---@param body string
---@return table? object
---@return string? problem
function M.find_in_events(body)
  local list = events(body)
  local problem
  for i = #list, 1, -1 do
    local object, why = M.find(list[i])
    if object then
      return object
    end
    problem = problem or why
  end
  return nil, #list == 0 and "the stream ended without an event" or problem
end

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

local KINDS = {
  status = "string",
  stateUpdates = "object",
  summary = "string",
  context = "object",
  output_file = "string",
}

local function invalid(message)
  return nil, { class = "invalid_output", message = message, reformat = true }
end

-- The fields without null, or which one has the wrong type.
local function typed(object)
  local out = {}
  for name, value in pairs(object) do
    if value ~= json.null then
      local wanted = KINDS[name]
      local array = type(value) == "table" and json.is_array(value)
      local fits = not wanted or type(value) == wanted or (wanted == "object" and type(value) == "table" and not array)
      if not fits then
        return nil, ('"%s" must be %s, not %s'):format(name, wanted == "object" and "an object" or "a text",
          array and "an array" or names.show(value))
      end
      out[name] = value
    end
  end
  return out
end

-- A text out of a field that may be a text, a list of texts or an object with a message.
local function words(value)
  if type(value) == "table" and type(value.message) == "string" then
    value = value.message
  elseif type(value) == "table" then
    local texts = {}
    for i = 1, #value do
      texts[i] = type(value[i]) == "string" and value[i] or nil
    end
    value = table.concat(texts, "; ")
  end
  if type(value) ~= "string" or not value:find("%S") then
    return nil
  end
  value = value:gsub("%s+", " ")
  return #value > 2000 and value:sub(1, utf8.offset(value, 0, 2000) - 1) .. "..." or value
end

-- An output file as a path below the work directory.
local function output_file(path, call)
  local base = call.work_dir and call.work_dir:gsub("/+$", "") .. "/"
  if base and path:sub(1, #base) == base then
    path = path:sub(#base + 1)
  end
  return names.confined(path)
end

local function failed(object, status)
  local meaning = FAILED[status:lower()] or "this status is not known"
  local why = words(object.error) or words(object.message) or words(object.reason) or words(object.summary)
    or words(object.concerns)
  return nil,
    {
      class = object.retryable == true and "transient" or "permanent",
      message = ("status %s: %s"):format(names.show(status), why or meaning),
      reformat = false,
    }
end

---What an answer means.
---@param object table  the decoded answer
---@param call skillrt.Call
---@return table? outcome
---@return table? failure
function M.outcome(object, call)
  local answer, problem = typed(object)
  if not answer then
    return invalid(problem)
  end
  local status = answer.status
  if status == nil and answer.stateUpdates == nil then
    return invalid('the reply has neither "status" nor "stateUpdates"')
  end
  local mapped = status == nil and "completed" or STATUS[status:lower()]
  if not mapped then
    return failed(answer, status)
  end
  local file
  if answer.output_file then
    file, problem = output_file(answer.output_file, call)
    if not file then
      return invalid('"output_file" ' .. problem)
    end
  end
  return {
    status = mapped,
    updates = answer.stateUpdates,
    summary = words(answer.summary),
    output = answer.output,
    context = answer.context,
    output_file = file,
    concerns = words(answer.concerns) or (status and status:lower() == "done_with_concerns" and "done with concerns")
      or nil,
  }
end

return M
