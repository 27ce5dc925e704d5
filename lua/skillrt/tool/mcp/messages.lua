-- tool/mcp/messages.lua: MCP messages that are the same on every transport: our identity, cancellations, answers.
--
-- Pure.

local stateless = require("skillrt.tool.mcp.stateless")

local M = {}

---The newest supported version of the protocol with a handshake, and the older ones.
M.VERSION = "2025-11-25"
M.KNOWN = { ["2025-11-25"] = true, ["2025-06-18"] = true, ["2025-03-26"] = true, ["2024-11-05"] = true,
  ["2024-10-07"] = true }

M.INITIALIZED = { jsonrpc = "2.0", method = "notifications/initialized" }

---The id of the handshake: no call has it.
M.OPENING = "open"

---@param client skillrt.McpClient
---@return table
function M.initialize(client)
  return {
    jsonrpc = "2.0", id = M.OPENING, method = "initialize",
    params = { protocolVersion = M.VERSION,
      capabilities = require("skillrt.tool.mcp.answers").capabilities(client.server),
      clientInfo = { name = "skillrt", version = client.version } },
  }
end

---@param id string
---@return table
function M.canceled(id)
  return { jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = id,
    reason = "the client no longer waits for it" } }
end

---What is wrong with a server's answer to the handshake; nil: nothing.
---@param answer table
---@return string?
function M.problem_of(answer)
  local result, why = answer.result, type(answer.error) == "table" and answer.error.message
  if stateless.refuses(answer) then
    return stateless.REFUSED
  elseif type(result) ~= "table" then
    return ("refuses the handshake: %s"):format(tostring(why or "without saying why"))
  elseif not M.KNOWN[result.protocolVersion] then
    return ("uses the protocol version %s, which is not supported; supported are %s and older"):format(
      tostring(result.protocolVersion), M.VERSION)
  end
end

return M
