-- tool/mcp/http.lua: what is said to a server behind a URL: streamable HTTP. A message is a POST, its answer JSON or a
-- stream of events; a stream that ends early is taken up again, a session that the server forgot is begun anew.
--
-- Knows the requests of ctx.await. Used by client.lua.

local json = require("skillrt.base.json")
local messages = require("skillrt.tool.mcp.messages")
local server_of = require("skillrt.tool.mcp.server")
local sse = require("skillrt.base.sse")
local stateless = require("skillrt.tool.mcp.stateless")

local M = {}

-- How often a stream is taken up again, and a forgotten session begun anew for one request; the longest wait (s) that
-- a server may ask for in between.
local MAX_RESUMED <const>, MAX_SESSIONS <const>, MAX_WAIT <const> = 50, 2, 60

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

-- The value of a header of a reply.
local function header_of(reply, name)
  for line in (reply.extra or ""):gmatch("[^\n]+") do
    local at = line:find(":", 1, true)
    if at and line:sub(1, at - 1):lower() == name then
      return (line:sub(at + 1):gsub("^%s+", ""):gsub("[%s]+$", ""))
    end
  end
end

-- Whether a server's declaration says itself who asks.
local function has_own(server)
  for name in pairs(server.headers) do
    if name:lower() == "authorization" then
      return true
    end
  end
  return server.oauth == false
end

-- The headers of a request and where it goes (or nil and why not), and what of both came from the environment.
local function headers_of(client, call, more)
  local secrets = {}
  local places = server_of.places(client.server, client.cwd)
  local filled, message = server_of.filled_map(client.server.headers, secrets, places)
  local url
  if filled then
    url, message = server_of.filled(client.server.url, secrets, places)
  end
  if not url then
    return nil, message
  end
  call.url = url
  local token = not has_own(client.server) and require("skillrt.tool.mcp.oauth").token(client, call)
  if token then
    filled.Authorization, secrets[#secrets + 1] = "Bearer " .. token, token
  end
  filled["Mcp-Session-Id"], filled["MCP-Protocol-Version"] = client.live.session, client.live.version
  for name, value in pairs(more) do
    filled[name] = value
  end
  return filled, url, secrets[1] and secrets or nil
end

local function request(client, call, more)
  local server = client.server
  local headers, url, secrets = headers_of(client, call, more.headers)
  if not headers then
    return nil, url
  end
  return {
    kind = "http", method = more.body and "POST" or "GET", url = url, headers = headers, body = more.body,
    declared = { url = server.url, headers = server.headers, body = more.declared or more.body },
    secrets = secrets, ca_file = server.ca_file, max_reply = server.max_reply,
    timeout = call.timeout or server.timeout, idle_timeout = call.timeout or server.timeout,
    idempotent = call.idempotent, acts = call.acts, id = call.id,
    shown = ("mcp %s: %s"):format(server.name, call.shown or call.method),
  }
end

-- What a request came to; one that is refused for want of a token is made again with one.
local function send(client, call, more)
  while true do
    local one, message = request(client, call, more)
    if not one then
      return nil, message, "permanent"
    end
    local reply, why, class, bad = client.ctx.await(one)
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

local POSTS <const> = { ["Content-Type"] = "application/json", Accept = "application/json, text/event-stream" }

local function post(client, call, body)
  local headers = call.headers or {}
  for name, value in pairs(POSTS) do
    headers[name] = value
  end
  local id = body.id
  body.id = nil
  local declared = encode(body)
  body.id = id
  return send(client, call, { headers = headers, body = encode(body), declared = declared })
end

-- What a reply holds: messages, the id of its last event, and how long to wait before it is taken up again (ms).
local function read(reply)
  local body, list, last = reply.body or "", {}, nil
  local kind = header_of(reply, "content-type") or ""
  if not kind:lower():find("^text/event%-stream") then
    local value = json.decode(body)
    local one = type(value) == "table" and (json.is_array(value) and value or { value }) or {}
    return one
  end
  for _, event in ipairs(sse.events(body) or {}) do
    local value = event.data ~= "" and json.decode(event.data) or nil
    list[#list + 1] = type(value) == "table" and value or nil
    last = event.id ~= "" and event.id or last
  end
  return list, last, math.tointeger(tonumber(("\n" .. body):match("\nretry:%s*(%d+)")))
end

-- The answer to a request in a list of messages; what is said besides is heard.
local function answer_in(client, list, id)
  local answer
  for _, message in ipairs(list) do
    if type(message) == "table" and message.id == id and message.method == nil then
      answer = answer or message
    elseif type(message) == "table" and message.id == nil then
      client.live.heard(message)
    end
  end
  return answer
end

-- The answer behind a reply, whose stream may have to be taken up again where it broke off.
local function answer_of(client, call, reply)
  local list, last, wait = read(reply)
  local answer = answer_in(client, list, call.id)
  for _ = 1, MAX_RESUMED do
    if answer or not last or call.stateless then
      break
    end
    client.ctx.sleep(math.min((wait or 1000) / 1000, MAX_WAIT))
    local more, why, class = send(client, { idempotent = true, acts = false, timeout = call.timeout, shown = call.shown,
      id = call.id, method = call.method }, { headers = { Accept = "text/event-stream", ["Last-Event-ID"] = last } })
    if not more then
      return nil, why, class
    end
    local id
    list, id, wait = read(more)
    last, answer = id or last, answer_in(client, list, call.id)
  end
  if not answer then
    return nil, "its stream ended without the answer", call.idempotent and "service_unavailable" or "doubt"
  end
  return answer
end

-- The error that a reply with a bad status holds as a message.
local function refusal_of(bad)
  local value = bad and bad.code and bad.body and json.decode(bad.body)
  return type(value) == "table" and type(value.error) == "table" and value or nil
end

-- Begins a session: what it said of itself is known from then on, to all that is asked of it in this process.
local function open(client, call)
  local live = client.live
  local body = messages.initialize(client)
  body.id = call.id .. "-open"
  local opening = { method = "initialize", id = body.id, idempotent = true, acts = false, timeout = call.timeout }
  live.session, live.version = nil, nil
  local reply, why, class, bad = post(client, opening, body)
  local answer = not reply and refusal_of(bad) or nil
  if reply then
    answer, why, class = answer_of(client, opening, reply)
  end
  if not answer then
    return nil, why, class
  end
  why = messages.problem_of(answer)
  live.problem = why == stateless.REFUSED and why or live.problem
  if why then
    return nil, why, "permanent"
  end
  local session = header_of(reply, "mcp-session-id")
  live.session = session and session:find("^[\33-\126]+$") and #session <= 1024 and session or nil
  live.version, live.is_open = answer.result.protocolVersion, true
  local ready = { method = messages.INITIALIZED.method, idempotent = true, acts = false, timeout = call.timeout }
  reply, why, class = post(client, ready, { jsonrpc = "2.0", method = messages.INITIALIZED.method })
  return reply ~= nil or nil, why, class
end

-- What is not waited for any more is withdrawn; whether that arrives is nobody's concern.
local function withdraw(client, call)
  post(client, { method = "notifications/cancelled", idempotent = true, acts = false, timeout = 10 },
    messages.canceled(call.id))
end

---What a request came to, once.
---@param client skillrt.McpClient
---@param call table  { id, method, params, timeout, idempotent, acts, shown }
---@return table|nil answer
---@return string? message
---@return string? class
function M.exchange(client, call)
  local live = client.live
  if call.stateless then
    local reply, why, class, bad = post(client, call, { jsonrpc = "2.0", id = call.id, method = call.method,
      params = call.params })
    if reply then
      return answer_of(client, call, reply)
    end
    return refusal_of(bad), why, class
  end
  for round = 1, MAX_SESSIONS do
    if client.ctx.drawn(function() return live.is_open and 1 or 0 end) == 0 then
      local ok, why, class = open(client, call)
      if not ok then
        return nil, why, class
      end
    end
    local reply, why, class, bad = post(client, call, { jsonrpc = "2.0", id = call.id, method = call.method,
      params = call.params })
    if reply then
      return answer_of(client, call, reply)
    elseif bad and bad.code == 404 and round < MAX_SESSIONS then
      live.is_open = false -- it has forgotten the session
    else
      if class == "timeout" then
        withdraw(client, call)
      end
      return nil, why, class
    end
  end
end

return M
