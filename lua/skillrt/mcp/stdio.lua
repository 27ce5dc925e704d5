-- mcp/stdio.lua: what is said to a server that is a program: a line for each message, over the session of its name.
-- Wherever its program begins the handshake is said first, so that a call never meets one that has forgotten it.
--
-- Knows the requests of ctx.await. Used by client.lua.

local json = require("skillrt.base.json")
local messages = require("skillrt.mcp.messages")
local server_of = require("skillrt.mcp.server")

local M = {}

local BASE <const> = { "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "SHELL", "TERM", "XDG_CACHE_HOME" }

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

-- Where it runs, and with what: as declared, and as it is.
local function place_of(server)
  local env, argv = {}, {}
  for _, name in ipairs(BASE) do
    env[name] = os.getenv(name)
  end
  local own, message = server_of.filled_map(server.env)
  if own then
    argv, message = server_of.filled_map(server.argv)
  end
  if message then
    return nil, message
  end
  for name, value in pairs(own) do
    env[name] = value
  end
  local held = {}
  for name, value in pairs(own) do
    held[#held + 1] = value ~= server.env[name] and #value >= 8 and value or nil
  end
  return { env = env, argv = argv, secrets = held[1] and held or nil }
end

---The request of a message that is answered; `follows`: of an answer to what the server asked meanwhile.
---@param client skillrt.McpClient
---@param call table  { id, method, params, follows = text?, timeout, idempotent, acts }
---@return table|nil request
---@return string? message
function M.request(client, call)
  local server, live = client.server, client.live
  if not live.place then
    local place, message = place_of(server)
    if not place then
      return nil, message
    end
    live.place = place
  end
  local body = { jsonrpc = "2.0", method = call.method, params = call.params }
  local declared = encode(body)
  body.id = call.id
  return {
    kind = "session",
    session = ("mcp-%s-%s"):format(server.name, server.digest:sub(1, 8)),
    argv = live.place.argv,
    env = live.place.env,
    cwd = server.cwd,
    secrets = live.place.secrets,
    declared = { argv = server.argv, env = server.env, message = call.follows or declared },
    id = call.id,
    message = call.follows or encode(body),
    opening = { encode(messages.initialize(client)), encode(messages.INITIALIZED) },
    withdraw = encode(messages.canceled(call.id)),
    questions = true,
    follows = call.follows ~= nil or nil,
    heard = live.heard,
    timeout = call.timeout or server.timeout,
    max_reply = server.max_reply,
    idempotent = call.follows and true or call.idempotent, -- what follows is asked about by client.lua
    acts = call.acts,
    shown = ("mcp %s: %s"):format(server.name, call.shown or call.method),
  }
end

---The messages of a reply, in their order.
---@param reply table
---@return table[]
function M.messages(reply)
  local value = json.decode(reply.body)
  return { type(value) == "table" and value or nil }
end

return M
