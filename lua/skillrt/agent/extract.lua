-- agent/extract.lua: finds JSON in text that others wrote: a whole reply, the end of a program's output, objects in
-- chatty or fenced text (F25), the events of a stream.
--
-- A reply is data: nothing in it is executed. Every search is bounded, so that no reply blocks the loop. Knows
-- nothing of what the values mean.

local json = require("skillrt.base.json")
local sse = require("skillrt.base.sse")

local M = {}

local MAX_DEPTH = 200
local MAX_STEPS = 1000000
local MAX_LOOKED_AT = 64 << 20 -- bytes, each time one is looked at

-- Where the string that opens at `at` closes; nil: nowhere.
local function string_end(text, at, budget)
  local pos = at + 1
  while budget.steps > 0 do
    budget.steps = budget.steps - 1
    local found = text:find('["\\]', pos)
    if not found then
      return nil
    elseif text:byte(found) == 34 then
      return found
    end
    pos = found + 2
  end
  return nil
end

-- Where the object that opens at `at` closes, or how far the search went without finding the end.
local function closing(text, at, budget)
  local depth, pos = 0, at
  while budget.steps > 0 do
    budget.steps = budget.steps - 1
    local found = text:find('[{}"]', pos)
    if not found then
      return nil, #text
    end
    local byte = text:byte(found)
    if byte == 34 then
      found = string_end(text, found, budget)
      if not found then
        return nil, #text
      end
    elseif byte == 123 then
      depth = depth + 1
      if depth > MAX_DEPTH then
        return nil, found
      end
    else
      depth = depth - 1
      if depth == 0 then
        return found, found
      end
    end
    pos = found + 1
  end
  return nil, pos
end

local function object_of(text)
  local value = json.decode(text)
  if json.is_object(value) then
    return value
  end
  return nil
end

-- Whether a brace begins something that was meant as JSON. Objects inside it are never taken for answers of their
-- own, even where it is cut off or invalid.
local function is_meant(text, at)
  return text:find('^%s*"', at + 1) ~= nil
end

---Calls `visit` with every JSON object of a text that is not inside another object.
---@param text string
---@param visit fun(object: table)
---@return boolean whole     false: the search was given up
---@return string? problem
function M.each_object(text, visit)
  local budget, looked_at, pos = { steps = MAX_STEPS }, 0, 1
  while true do
    local at = text:find("{", pos, true)
    if not at then
      return true
    end
    local last, seen = closing(text, at, budget)
    looked_at = looked_at + seen - at
    if budget.steps <= 0 or looked_at > MAX_LOOKED_AT then
      return false, "the reply holds too many braces to find its JSON object"
    elseif not last and is_meant(text, at) then
      return false, "the reply contains no complete JSON object"
    end
    local object = last and object_of(text:sub(at, last))
    if object then
      visit(object)
    end
    pos = last and (object or is_meant(text, at)) and last + 1 or at + 1
  end
end

-- The text without surrounding blanks; uses positions, as a pattern with two open ends is quadratic.
local function trimmed(text)
  local first = text:find("%S")
  local last = first and ((text:find("%S%s*$", -64)) or #text:match("^.*%S")) or 0
  return first == 1 and last == #text and text or text:sub(first or 1, last)
end

-- The content of a code fence, if the text is nothing else.
local function unfenced(text)
  local first = text:match("^```[%w_-]*[ \t]*\r?\n()")
  local last = first and text:match("^.*\r?\n()```$")
  return last and last > first and trimmed(text:sub(first, last - 1)) or text
end

---The value of a reply that is JSON and nothing else, possibly in a code fence.
---@param text string
---@return any value  nil: it is not
---@return string? problem
function M.whole(text)
  local body = unfenced(trimmed(text))
  if body == "" then
    return nil, "the reply is empty"
  end
  local value, problem = json.decode(body)
  if value == nil then
    return nil, "the reply is not JSON: " .. problem:gsub("^JSON: ", "")
  end
  return value
end

local MAX_BEGINNINGS = 100

-- The last places where a line begins with an object or a list.
local function beginnings(text)
  local ring, count, pos = {}, 0, 1
  while true do
    local at = text:find("[\r\n][{%[]", pos)
    if not at then
      return ring, count
    end
    count, pos = count + 1, at + 1
    ring[count % MAX_BEGINNINGS] = at + 1
  end
end

-- The shortest end of a text that begins a line and is a single object or list.
local function ending_block(text)
  local ring, count = beginnings(text)
  local looked_at = 0
  for i = count, math.max(1, count - MAX_BEGINNINGS + 1), -1 do
    local at = ring[i % MAX_BEGINNINGS]
    looked_at = looked_at + #text - at
    local value = looked_at <= MAX_LOOKED_AT and json.decode(text:sub(at)) or nil
    if value ~= nil then
      return value
    end
  end
  return nil
end

---The result that a program printed: its whole output if that is JSON, or an object or list that begins a line and
---ends the output. JSON followed by words is chat, not a result.
---@param text string
---@return any value  nil: there is none
function M.at_end(text)
  local value = M.whole(text)
  if value ~= nil then
    return value
  end
  text = trimmed(text)
  text = text:sub(-3) == "```" and trimmed(text:sub(1, -4)) or text
  local last = text:sub(-1)
  return (last == "}" or last == "]") and ending_block(text) or nil
end

---The data of each server-sent event, in order; and whether the stream was cut inside one.
---@param body string
---@return string[]|nil data
---@return boolean|string cut_or_message
function M.events(body)
  local list, cut = sse.events(body)
  if not list then
    return nil, cut
  end
  local data = {}
  for i, event in ipairs(list) do
    data[i] = event.data
  end
  return data, cut
end

---The value of the last event of a stream that gives one.
---@param body string
---@param read fun(data: string): any, string?
---@return any value
---@return string? problem
function M.last_event(body, read)
  local list, cut = M.events(body)
  local problem
  for i = #(list or {}), 1, -1 do
    local value, why = read(list[i])
    if value ~= nil then
      return value
    end
    problem = problem or why
  end
  return nil, not list and cut or cut and "the stream was cut inside an event" or problem
    or "the stream ended without an event"
end

---The arguments of a tool call, as a model wrote them: an object; no text at all means {}.
---@param text any
---@return table object  {} where it is none
---@return string? problem
function M.object(text)
  if type(text) ~= "string" then
    return {}, "its arguments are not a JSON object"
  elseif not text:find("%S") then
    return {}
  end
  local value, why = json.decode(text)
  if not json.is_object(value) then
    return {}, "its arguments are not a JSON object" .. (value == nil and why and ": " .. why or "")
  end
  return value
end

---Whether a reply's header lines say that it is a stream of events.
---@param extra string?
---@return boolean
function M.is_stream(extra)
  local value = ("\n" .. (extra or "")):lower():match("\ncontent%-type:%s*([^;%s]+)")
  return value == "text/event-stream"
end

return M
