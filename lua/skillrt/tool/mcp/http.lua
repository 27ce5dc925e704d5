-- tool/mcp/http.lua: a server behind a URL (streamable HTTP). With a handshake, messages use a session, like those to
-- a program; to a server without one each is a POST of its own, answered with JSON or a stream.
--
-- Knows the requests of ctx.await. Used by client.lua; session.lua holds the conversation of a session.

local json = require("skillrt.base.json")
local messages = require("skillrt.tool.mcp.messages")
local server_of = require("skillrt.tool.mcp.server")
local session = require("skillrt.tool.mcp.session")
local sse = require("skillrt.base.sse")
local stateless = require("skillrt.tool.mcp.stateless")
local tables = require("skillrt.base.tables")
local text_of = require("skillrt.base.text")

local M = {}

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

-- Whether a server's declaration authorizes requests itself.
local function has_own(server)
  for name in pairs(server.headers) do
    if name:lower() == "authorization" then
      return true
    end
  end
  return server.oauth == false
end

-- Fields that only a session has.
local OURS <const> = { accept = true, ["content-type"] = true, ["mcp-session-id"] = true,
  ["mcp-protocol-version"] = true, ["last-event-id"] = true }

-- Where requests go, and what is sent along; or nil and why not.
local function place_of(client, call)
  local server, secrets, headers = client.server, {}, {}
  local places = server_of.places(server, client.cwd)
  local filled, message = server_of.filled_map(server.headers, secrets, places)
  local url
  if filled then
    url, message = server_of.filled(server.url, secrets, places)
  end
  if not url then
    return nil, message
  end
  for name, value in pairs(filled) do
    headers[name] = not OURS[name:lower()] and value or nil
  end
  call.url = url
  local token = not has_own(server) and require("skillrt.tool.mcp.oauth").token(client, call)
  if token then
    headers.Authorization, secrets[#secrets + 1] = "Bearer " .. token, token
  end
  return { url = url, headers = headers, ca_file = server.ca_file, secrets = secrets[1] and secrets or nil,
    declared = { url = server.url, headers = server.headers } }
end

-- The result of a request; one that is refused for lack of a token is repeated with one.
local function send(client, call, request_of)
  while true do
    local place, message = place_of(client, call)
    if not place then
      return nil, message, "permanent"
    end
    local reply, why, class, bad = client.ctx.await(request_of(place))
    local code = bad and bad.code
    if reply or code ~= 401 and code ~= 403 or has_own(client.server) then
      return reply, why, class, bad
    end
    local again, said, kind = require("skillrt.tool.mcp.oauth").again(client, call, bad)
    if not again then
      return nil, said or why, kind or class, bad
    end
  end
end

-- ---- without a session ----

local POSTS <const> = { ["Content-Type"] = "application/json", Accept = "application/json, text/event-stream" }

-- The request for a message without a session.
local function post(client, call, place)
  local server = client.server
  local body = { jsonrpc = "2.0", method = call.method, params = call.params }
  place.declared.body = encode(body)
  body.id = call.id
  for _, more in ipairs({ call.headers or {}, POSTS }) do
    tables.fill(place.headers, more)
  end
  local one = {
    kind = "http", method = "POST", body = encode(body), max_reply = server.max_reply,
    timeout = call.timeout or server.timeout, idle_timeout = call.timeout or server.timeout,
    idempotent = call.idempotent, acts = call.acts, id = call.id,
    shown = ("mcp %s: %s"):format(server.name, call.shown or call.method),
  }
  tables.fill(one, place)
  return one
end

-- The messages in a reply.
local function read(reply)
  local body, list = reply.body or "", {}
  local kind = text_of.header(reply.extra or "", "content-type") or ""
  if not kind:lower():find("^text/event%-stream") then
    local value = json.decode(body)
    return type(value) == "table" and (json.is_array(value) and value or { value }) or {}
  end
  for _, event in ipairs(sse.events(body) or {}) do
    local value = event.data ~= "" and json.decode(event.data) or nil
    list[#list + 1] = type(value) == "table" and value or nil
  end
  return list
end

-- The answer in a reply; handles other messages in it, too.
local function answer_of(client, call, reply)
  local answer
  for _, message in ipairs(read(reply)) do
    if type(message) == "table" and message.id == call.id and message.method == nil then
      answer = answer or message
    elseif type(message) == "table" and message.id == nil then
      client.live.heard(message)
    end
  end
  if not answer then
    return nil, "its stream ended without the answer", call.idempotent and "service_unavailable" or "doubt"
  end
  return answer
end

-- The error message in a reply with a bad status.
local function refusal_of(bad)
  local value = bad and (bad.code or 0) >= 400 and bad.body and json.decode(bad.body)
  return type(value) == "table" and type(value.error) == "table" and value or nil
end

-- ---- both ways ----

---The result of a request, once.
---@param client skillrt.McpClient
---@param call table  { id, method, params, timeout, idempotent, acts, shown }
---@return table|nil answer
---@return string? message
---@return string? class
function M.exchange(client, call)
  local live = client.live
  if call.stateless then
    local reply, why, class, bad = send(client, call, function(place) return post(client, call, place) end)
    if reply then
      return answer_of(client, call, reply)
    end
    return refusal_of(bad), why, class
  end
  local answer, why, class, bad = session.exchange(client, call, function(follows)
    return send(client, call, function(place) return session.request(client, call, place, follows) end)
  end)
  local refusal = not answer and refusal_of(bad)
  if refusal then -- the server refused the handshake because it has none, or refused the call
    local problem = messages.problem_of(refusal)
    live.problem = problem == stateless.REFUSED and problem or live.problem
  end
  return answer, why, class
end

return M
