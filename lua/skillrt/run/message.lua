-- run/message.lua: what a message of a session is, by the form that JSON-RPC gives it: a question has an `id` and a
-- `method`, an answer an `id` alone; whatever else is said is a notice. An id has a key, by which the core finds who
-- waits for its answer.
--
-- Pure. Called by run/turn.lua for each message that comes, and by run/call/ for those that leave.

local json = require("skillrt.base.json")

local M = {}

-- As long as the core keeps one (MESSAGE_KEY_MAX).
local KEY_MOST <const> = 255

---@param id any
---@return string?  nil: it is no id
function M.key(id)
  if type(id) ~= "string" and math.type(id) ~= "integer" then
    return nil
  end
  local key = json.encode(id)
  return key and #key <= KEY_MOST and key or nil
end

local function form_of(value)
  local key = M.key(value.id)
  if not key then
    return "notice"
  end
  return value.method ~= nil and "question" or "answer", key
end

-- Several messages in one, and what is none.
local function parts_of(list)
  local parts = {}
  for _, value in ipairs(type(list) == "table" and list or {}) do
    if json.is_object(value) then
      parts[#parts + 1] = json.encode(value)
    end
  end
  return parts
end

---The keys of the answers that messages ask for; "" for one that asks nothing.
---@param texts string[]?
---@return string[]
function M.keys(texts)
  local keys = {}
  for i, text in ipairs(texts or {}) do
    local value = json.decode(text)
    local form, key = "notice", nil
    if type(value) == "table" then
      form, key = form_of(value)
    end
    keys[i] = form == "question" and key or ""
  end
  return keys
end

---Whether a message answers something.
---@param text string
---@return boolean
function M.answers(text)
  local value = json.decode(text)
  return type(value) == "table" and form_of(value) == "answer"
end

-- "Name: value" of each.
local function lines_of(headers)
  local lines = {}
  for name, value in pairs(headers or {}) do
    lines[#lines + 1] = ("%s: %s"):format(name, value)
  end
  return lines
end

---@param user table?   of the session: `replies`, by method the JSON that is answered at once; `opened`, which takes
---the answer to the opening and gives the headers of what follows, or nil and why there is no session
---@param text string
---@param opens boolean  an answer is the one to the opening
---@return string form   "notice", "question", "answer", "list"
---@return string? key
---@return string? reply    to a question, what is said at once
---@return string[]? parts  of a list; or the headers
---@return string? refusal
function M.read(user, text, opens)
  local value = json.decode(text)
  if not json.is_object(value) then
    return "list", nil, nil, parts_of(value)
  end
  local form, key = form_of(value)
  local result = form == "question" and user and user.replies and user.replies[value.method]
  if result then
    return form, key, ('{"jsonrpc":"2.0","id":%s,"result":%s}'):format(key, result)
  elseif form == "answer" and opens and user and user.opened then
    local headers, refusal = user.opened(value)
    return form, key, nil, lines_of(headers), not headers and refusal or nil
  end
  return form, key
end

return M
