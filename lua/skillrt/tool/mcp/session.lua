-- tool/mcp/session.lua: the conversation with a server over a session: each message goes to the session of its name,
-- and the server's own requests are answered. A new session starts with the handshake, so that no call meets a server
-- that has forgotten it.
--
-- The caller (stdio.lua, http.lua) knows whether a program or a URL is behind it. Knows the requests of ctx.await.

local json = require("skillrt.base.json")
local messages = require("skillrt.tool.mcp.messages")
local tables = require("skillrt.base.tables")

local M = {}

-- How often a server may ask while a request is under way.
local MAX_QUESTIONS <const> = 100

-- Requests that are answered at once and not shown: a server that pings between two calls does not wait.
local REPLIES <const> = { ping = "{}" }

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

-- The answer to the handshake over HTTP: later requests name the version that was agreed upon.
local function opened(answer)
  local version = type(answer.result) == "table" and answer.result.protocolVersion
  if type(version) ~= "string" or #version > 31 or version:find("[^%w%.-]") then
    return nil, "refuses the handshake"
  end
  return { ["MCP-Protocol-Version"] = version }
end

---The request of a message that is answered.
---@param client skillrt.McpClient
---@param call table
---@param place table     of the request: argv, env, cwd, or url, headers, ca_file; secrets, declared
---@param follows string?  the line that answers the server's own request
---@return table request  of ctx.await
function M.request(client, call, place, follows)
  local server = client.server
  local body = { jsonrpc = "2.0", method = call.method, params = call.params }
  local declared = { message = follows or encode(body) }
  tables.fill(declared, place.declared)
  body.id = call.id
  local one = {
    kind = "session",
    session = ("mcp-%s-%s"):format(server.name, server.digest:sub(1, 8)),
    id = call.id,
    message = follows or encode(body),
    opening = not call.stateless and { encode(messages.initialize(client)), encode(messages.INITIALIZED) } or nil,
    withdraw = encode(messages.canceled(call.id)),
    opened = place.url and opened or nil,
    keeps = place.url and "Mcp-Session-Id" or nil,
    replies = REPLIES,
    questions = true,
    follows = follows ~= nil or nil,
    heard = client.live.heard,
    timeout = call.timeout or server.timeout,
    max_reply = server.max_reply,
    idempotent = follows and true or call.idempotent, -- the client asks about what follows
    acts = call.acts,
    shown = ("mcp %s: %s"):format(server.name, call.shown or call.method),
  }
  tables.fill(one, place)
  one.declared = declared
  return one
end

---The result of a request, once: the server's own requests are answered, and the answer is awaited again.
---@param client skillrt.McpClient
---@param call table  { id, method, params, timeout, idempotent, acts, shown }
---@param send fun(follows: string?): table?, string?, string?, table?  sends the message, or the line that follows
---@return table|nil answer
---@return string? message
---@return string? class  "doubt": it may have acted, and the caller asks about it
---@return table? reply   the bad one
function M.exchange(client, call, send)
  local reply, why, class, bad = send()
  for _ = 1, MAX_QUESTIONS do
    if not reply then
      return nil, (why:gsub("^mcp%-[%w_-]+: ", "")), class, bad -- without its name for the engine
    end
    local answer = json.decode(reply.body)
    if answer.method == nil then
      return answer
    end
    reply, why, class, bad = send(client:answered(answer, call))
    if not reply and class ~= "canceled" and not call.idempotent then
      class = "doubt"
    end
  end
  return nil, "keeps asking without an end", "permanent"
end

return M
