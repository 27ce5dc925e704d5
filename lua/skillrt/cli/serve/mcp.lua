-- cli/serve/mcp.lua: the Model Context Protocol over HTTP ("streamable HTTP") in `skillrt serve`: sessions, and which
-- HTTP request gets each message of the server in cli/mcp.
--
-- A message that is answered at once gets a JSON reply; else the reply is a stream until the answer. A request of the
-- revision without sessions has its own server while it is under way.

local core = require("skillrt.core")
local json = require("skillrt.base.json")

local M = {}

local MOST <const> = 64 -- sessions; beyond that, the least recently used one ends

---@class skillrt.cli.serve.Mcp
---@field server table                   of cli/serve/server.lua
---@field sessions table<string, table>  { server: of cli/mcp, used: ms, asked: by the id of a request of MCP }
local Mcp = {}
Mcp.__index = Mcp

---@param server table
---@return skillrt.cli.serve.Mcp
function M.new(server)
  return setmetatable({ server = server, sessions = {}, ids = 0 }, Mcp)
end

-- Writes a message to the HTTP request whose MCP request it belongs to.
local function write(self, session, text, message, id)
  local request = session.asked[id]
  if not (request and request.streams) then
    if request or not session.now then -- a refused request has no known id
      session.now, session.status = text, message.id == json.null and 400 or 200
    end
    return true
  end
  local there = self.server.http:push(request.id, ("event: message\ndata: %s\n\n"):format(text))
  if message.result ~= nil or message.error ~= nil then
    self.server.http:finish(request.id)
    session.asked[id] = nil
  end
  return there
end

local function session_of(self, name)
  local session = { asked = {} }
  local options = { write = function(...)
    return write(self, session, ...)
  end }
  for _, field in ipairs({ "runs", "skills", "paths", "agent" }) do
    options[field] = self.server[field]
  end
  session.server = require("skillrt.cli.mcp.server").new(options)
  self.sessions[name] = session
  return session
end

-- Ends the least recently used session when there are too many.
local function make_room(self)
  local count, oldest = 0, nil
  for name, session in pairs(self.sessions) do
    count = count + 1
    oldest = (not oldest or session.used < self.sessions[oldest].used) and name or oldest
  end
  if count >= MOST then
    self.sessions[oldest] = nil
  end
end

---A request to /mcp.
---@param request table
function Mcp:take(request)
  local server, name = self.server, request.headers["mcp-session-id"]
  local session = name and self.sessions[name]
  if name and not session then
    return server:refuse(request, 404, "missing", "there is no such session; initialize begins one")
  elseif request.method == "DELETE" and session then
    self.sessions[name] = nil
    return server:reply(request, 200, "")
  elseif request.method ~= "POST" then
    return server:refuse(request, 405, "method", "this path takes POST, and DELETE of a session",
      { Allow = "POST, DELETE" })
  end
  local message = json.decode(request.body)
  local asks = json.is_object(message) and type(message.method) == "string" and message.id ~= nil and message
  local begins, more = asks and asks.method == "initialize", nil
  if not session then
    make_room(self)
    name = begins and core.uuid() or "request " .. request.id
    session = session_of(self, name)
    session.is_single = not begins
    more = begins and { ["Mcp-Session-Id"] = name } or nil
  end
  session.used, session.now = core.mono_ms(), nil
  if asks and session.asked[asks.id] then
    return server:refuse(request, 400, "invalid", "a request with this id is under way")
  elseif asks then
    session.asked[asks.id] = request
  end
  session.server:take(request.body)
  if session.now then
    session.asked[asks and asks.id or ""] = nil
    server:reply(request, session.status, session.now, more)
  elseif not asks then
    server:reply(request, 202, "")
  elseif not server:stream(request) then
    session.asked[asks.id] = nil
  end
  if session.is_single and not next(session.asked) then
    self.sessions[name] = nil
  end
end

---Advances what is under way.
function Mcp:advance()
  for name, session in pairs(self.sessions) do
    session.server:advance()
    if session.is_single and not next(session.asked) then
      self.sessions[name] = nil
    end
  end
end

---The ms until there is work.
---@return integer
function Mcp:patience()
  local least = 60000
  for _, session in pairs(self.sessions) do
    least = math.min(least, session.server:patience())
  end
  return least
end

return M
