-- run/message.lua: classifies a message of a session by its JSON-RPC form: a question has an `id` and a `method`, an
-- answer only an `id`; anything else is a notice. An id has a key, by which its answer is found.
--
-- Pure. Called by run/call/ for messages in both directions.

local json = require("skillrt.base.json")

local M = {}

---@param id any
---@return string?  nil: it is no id
function M.key(id)
  if type(id) ~= "string" and math.type(id) ~= "integer" then
    return nil
  end
  return json.encode(id)
end

---@param text string
---@return "notice"|"question"|"answer"|"list" form  list: several messages in one, or an invalid message
---@return string? key
---@return any value
function M.read(text)
  local value = json.decode(text)
  if not json.is_object(value) then
    return "list", nil, value
  end
  local key = M.key(value.id)
  return key == nil and "notice" or value.method ~= nil and "question" or "answer", key, value
end

---The messages of a list.
---@param list any
---@return string[]
function M.parts(list)
  local parts = {}
  for _, value in ipairs(type(list) == "table" and list or {}) do
    parts[#parts + 1] = json.is_object(value) and json.encode(value) or nil
  end
  return parts
end

return M
