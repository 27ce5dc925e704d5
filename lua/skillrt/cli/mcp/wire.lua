-- cli/mcp/wire.lua: JSON-RPC 2.0 as lines: a line read as a message, a message written as a line, and the errors that
-- the protocol has for what is none. Knows no methods and no runs.

local core = require("skillrt.core")
local json = require("skillrt.base.json")

local M = {}

M.LONGEST = 4 << 20 -- bytes of a line that is read

-- Of JSON-RPC, and of MCP.
M.PARSE, M.INVALID, M.NO_METHOD, M.PARAMS, M.INTERNAL = -32700, -32600, -32601, -32602, -32603
M.VERSION = -32022

---Writes a message.
---@param message table
---@return boolean open  false: nobody reads any more
function M.write(message)
  message.jsonrpc = "2.0"
  local text, why = json.encode(message)
  if not text then
    text = assert(json.encode({ jsonrpc = "2.0", id = message.id, error = { code = M.INTERNAL, message = why } }))
  end
  return core.terminal.write(1, text .. "\n") == true
end

---@param id string|integer|nil
---@param code integer
---@param message string
---@param data any
---@return boolean open
function M.refuse(id, code, message, data)
  return M.write({ id = id == nil and json.null or id, error = { code = code, message = message, data = data } })
end

local is_object = json.is_object

local function is_id(value)
  return type(value) == "string" and #value <= 1000 or math.type(value) == "integer"
end

---What a value of JSON is as a message: "request", "notification", "response"; nil and what is wrong with it.
---@param value any
---@return string|nil kind
---@return string? problem
---@return string|integer|nil id  of a request that is none, where it says it
function M.kind(value)
  if not is_object(value) then
    return nil, "a message is an object"
  end
  local id = is_id(value.id) and value.id or nil
  if value.jsonrpc ~= "2.0" then
    return nil, 'jsonrpc must be "2.0"', id
  elseif value.method == nil and id ~= nil and (value.result ~= nil or value.error ~= nil) then
    return "response"
  elseif type(value.method) ~= "string" then
    return nil, "method must be a text", id
  elseif value.params ~= nil and not is_object(value.params) then
    return nil, "params must be an object", id
  elseif value.id ~= nil and id == nil then
    return nil, "id must be a text or a whole number"
  end
  return id ~= nil and "request" or "notification", nil, id
end

---The messages of a line: one, or where the version has batches several.
---@param text string
---@param batches boolean
---@return table[]|nil messages
---@return string? problem
---@return integer? code
function M.read(text, batches)
  local value, why = json.decode(text)
  if value == nil then
    return nil, "not JSON: " .. tostring(why), M.PARSE
  elseif not batches or not json.is_array(value) then
    return { value }
  elseif #value == 0 or #value > 100 then
    return nil, "a batch has from 1 to 100 messages", M.INVALID
  end
  return value
end

return M
