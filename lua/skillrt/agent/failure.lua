-- agent/failure.lua: the classes of failures, and whether a reply reports one.
--
-- Success must be explicit: except where an expectation is raw, a known error envelope is a failure. Pure; knows
-- nothing of agents, tasks or transports.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local retry = require("skillrt.skill.retry")
local tail = require("skillrt.base.text").tail

local M = {}

---@class skillrt.Failure
---@field class skillrt.FailureClass
---@field message string
---@field form boolean?  only the form is wrong: the agent may be asked to write the same answer again

---The classes that a function, a reply or a parser may name itself.
M.CLAIMED = { transient = true, rate_limit = true, timeout = true, invalid_output = true, permanent = true,
  denied = true, context = true, validation = true, execution = true, fatal = true }

-- The classes of calls that ended without a result. A function that passes one on has failed for good, nothing worse.
local HANDED_ON <const> = { canceled = true, skipped = true, definition = true }

---The class that a script named: one of ours or of the skill; an unknown one aborts the run with a message (R148).
---@param class any
---@param message string
---@param default skillrt.FailureClass?  where none is named
---@return skillrt.FailureClass class
---@return string message
function M.claimed(class, message, default)
  if class == nil then
    return default or "permanent", message
  elseif M.CLAIMED[class] or retry.is_own(class) then
    return class, message
  elseif HANDED_ON[class] then
    return "permanent", message
  end
  local near = type(class) == "string" and names.suggest(class, M.CLAIMED) or ""
  return "fatal", ("%s (and its class is %s, which is not known%s)"):format(message, names.show(class), near)
end

local TRANSPORT = {
  timeout = "timeout",
  canceled = "canceled",
  too_large = "invalid_output",
  broken = "transient",
  refused = "permanent",
  killed = "transient",
  lapsed = "transient",
  gone = "transient",
}

-- The exit code of a shell when the program it was to start is missing or is not executable.
local NO_PROGRAM <const> = { [126] = true, [127] = true }

---The class of an exchange that failed.
---@param reply table
---@return skillrt.FailureClass
function M.of_transport(reply)
  return not (reply.status == "broken" and NO_PROGRAM[reply.code]) and TRANSPORT[reply.status] or "permanent"
end

local LAST_LINES <const>, LAST_BYTES <const> = 3, 500

---How a program ended without an answer, with the last lines of its standard error.
---@param how string
---@param reply table
---@return string message
function M.of_program(how, reply)
  local lines = {}
  for line in (reply.extra or ""):sub(-4096):gsub("\27%[[%d;]*m", ""):gmatch("[^\r\n]+") do
    lines[#lines + 1] = line:find("%S") and line or nil
  end
  local words = table.concat(lines, "; ", math.max(1, #lines - LAST_LINES + 1))
  words = #words > LAST_BYTES and "..." .. tail(words, LAST_BYTES) or words
  return how .. (words ~= "" and ": " .. words or " and wrote nothing to standard error")
end

local LIMIT = { [429] = true, [503] = true, [529] = true }
local PASSING = { [408] = true, [425] = true }
local LASTING = { [501] = true, [505] = true, [506] = true, [508] = true, [510] = true, [511] = true }

---Whether a status code means that the server did not start the work.
---@param code integer
---@return boolean
function M.is_refusal(code)
  return LIMIT[code] == true
end

---What an HTTP status code that is not 2xx means.
---@param code integer
---@return skillrt.FailureClass
function M.of_http(code)
  if LIMIT[code] then
    return "rate_limit"
  elseif PASSING[code] or (code >= 500 and not LASTING[code]) then
    return "transient"
  end
  return "permanent"
end

local TRY_AGAIN = 75 -- EX_TEMPFAIL of sysexits.h

---What an exit code means that is no success.
---@param code integer
---@return skillrt.FailureClass
function M.of_exit(code)
  return code == TRY_AGAIN and "transient" or "permanent"
end

local MAX_WORDS = 2000

local function short(text)
  text = text:gsub("[%s\127]+", " ")
  if #text <= MAX_WORDS then
    return text
  end
  local stop = MAX_WORDS
  while stop > MAX_WORDS - 4 and (text:byte(stop + 1) or 0) & 0xC0 == 0x80 do
    stop = stop - 1 -- never between the bytes of a character
  end
  return text:sub(1, stop) .. "..."
end

---A line of text from a field that may be a text, a list of texts or of objects, or an object with a message; nil:
---it holds none.
---@param value any
---@return string?
function M.words(value)
  if json.is_array(value) then
    local texts = {}
    for i = 1, math.min(#value, 100) do
      local item = value[i]
      local text = type(item) == "table" and item.message or item
      texts[#texts + 1] = type(text) == "string" and text or nil
    end
    value = table.concat(texts, "; ")
  elseif type(value) == "table" then
    value = value.message or value.detail or value.error
  end
  if type(value) ~= "string" or not value:find("%S") then
    return nil
  end
  return short(value)
end

local WHERE = { "error", "errors", "message", "reason", "detail", "result", "summary", "concerns" }

---The reason that a failed object gives.
---@param object table
---@return string?
function M.reason(object)
  for _, field in ipairs(WHERE) do
    local text = M.words(object[field])
    if text then
      return text
    end
  end
  return nil
end

---The class that a failed object gives.
---@param object table
---@param message string
---@return skillrt.Failure
function M.told(object, message)
  local class = object.class
  if class == json.null then
    class = nil
  end
  local named, text = M.claimed(class, message, object.retryable == true and "transient" or "permanent")
  return { class = named, message = text, form = false }
end

local function is_said(value)
  if value == nil or value == json.null or value == false or value == "" or value == 0 then
    return false
  end
  return not (json.is_array(value) and #value == 0)
end

local function is_envelope(object)
  local errors = object.errors
  return is_said(object.error)
    or object.is_error == true
    or object.isError == true
    or object.type == "error"
    or (type(errors) == "table" and next(errors) ~= nil)
    or object.ok == false
    or object.success == false
end

---The failure that a decoded reply reports, whatever else it holds; nil: it reports none.
---@param value any
---@return skillrt.Failure?
function M.in_value(value)
  if not json.is_object(value) or not is_envelope(value) then
    return nil
  end
  return M.told(value, "the reply is an error: " .. (M.reason(value) or "no reason given"))
end

return M
