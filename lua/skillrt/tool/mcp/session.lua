-- tool/mcp/session.lua: what is said to a server that one talks to: each message over the session of its name, and what
-- the server asks meanwhile. Wherever the session begins the handshake is said first, so that a call never meets one
-- that has forgotten it.
--
-- Whether a program is behind it or a URL says who calls (stdio.lua, http.lua). Knows the requests of ctx.await.

local json = require("skillrt.base.json")
local messages = require("skillrt.tool.mcp.messages")
local tables = require("skillrt.base.tables")

local M = {}

-- How often a server may ask while it is asked.
local MAX_QUESTIONS <const> = 100

-- What is answered at once and not shown: a server that pings between two calls does not wait.
local REPLIES <const> = { ping = "{}" }

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

-- The answer to the handshake over HTTP: what follows names the version that was agreed upon.
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
---@param follows string?  the line that answers what the server asked meanwhile
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
    idempotent = follows and true or call.idempotent, -- what follows is asked about by the client
    acts = call.acts,
    shown = ("mcp %s: %s"):format(server.name, call.shown or call.method),
  }
  tables.fill(one, place)
  one.declared = declared
  return one
end

---What a request came to, once: what the server asks meanwhile is answered, and the answer waited for again.
---@param client skillrt.McpClient
---@param call table  { id, method, params, timeout, idempotent, acts, shown }
---@param send fun(follows: string?): table?, string?, string?, table?  sends the message, or the line that follows
---@return table|nil answer
---@return string? message
---@return string? class  "doubt": it may have acted, and is asked about by who called
---@return table? reply   the bad one
function M.exchange(client, call, send)
  local reply, why, class, bad = send()
  for _ = 1, MAX_QUESTIONS do
    if not reply then
      return nil, (why:gsub("^mcp%-[%w_-]+: ", "")), class, bad -- without the name that it has for the engine
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
  return nil, "asks without an end", "permanent"
end

return M
