-- tool/mcp/stdio.lua: what is said to a server that is a program: a line for each message, over the session of its
-- name. Wherever its program begins the handshake is said first, so that a call never meets one that has forgotten
-- it.
--
-- Knows the requests of ctx.await. Used by client.lua.

local json = require("skillrt.base.json")
local messages = require("skillrt.tool.mcp.messages")
local server_of = require("skillrt.tool.mcp.server")

local M = { takes_questions = true }

-- How often a server may ask while it is asked.
local MAX_QUESTIONS <const> = 100

local BASE <const> = { "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "SHELL", "TERM", "XDG_CACHE_HOME" }

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

-- Where it runs, and with what: as declared, and as it is.
local function place_of(server, cwd)
  local env, argv, held, places = {}, {}, {}, server_of.places(server, cwd)
  for _, name in ipairs(BASE) do
    env[name] = os.getenv(name)
  end
  local own, message = server_of.filled_map(server.env, held, places)
  if own then
    argv, message = server_of.filled_map(server.argv, nil, places)
  end
  local folder = server.cwd
  if folder and not message then
    folder, message = server_of.filled(folder, nil, places)
  end
  if message then
    return nil, message
  end
  for name, value in pairs(own) do
    env[name] = value
  end
  return { env = env, argv = argv, cwd = folder, secrets = held[1] and held or nil }
end

-- The request of a message that is answered; `follows`: the line that answers what the server asked meanwhile.
local function request(client, call, follows)
  local server, live = client.server, client.live
  if not live.place then
    local place, message = place_of(server, client.cwd)
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
    cwd = live.place.cwd,
    secrets = live.place.secrets,
    declared = { argv = server.argv, env = server.env, message = follows or declared },
    id = call.id,
    message = follows or encode(body),
    opening = not call.stateless and { encode(messages.initialize(client)), encode(messages.INITIALIZED) } or nil,
    withdraw = encode(messages.canceled(call.id)),
    questions = true,
    follows = follows ~= nil or nil,
    heard = live.heard,
    timeout = call.timeout or server.timeout,
    max_reply = server.max_reply,
    idempotent = follows and true or call.idempotent, -- what follows is asked about by the client
    acts = call.acts,
    shown = ("mcp %s: %s"):format(server.name, call.shown or call.method),
  }
end

-- Why there is no reply: without the name that the session has for the engine.
local function broken_off(client, why, class, reply)
  client.live.ended = client.live.ended or reply and (reply.status == "broken" or reply.status == "killed")
  return nil, (why:gsub("^mcp%-[%w_-]+: ", "")), class
end

---What a request came to, once: what the server asks meanwhile is answered, and the answer waited for again.
---@param client skillrt.McpClient
---@param call table  { id, method, params, timeout, idempotent, acts, shown }
---@return table|nil answer
---@return string? message
---@return string? class  "doubt": it may have acted, and is asked about by who called
function M.exchange(client, call)
  local asked, message = request(client, call)
  if not asked then
    return nil, message, "permanent"
  end
  local reply, why, class, bad = client.ctx.await(asked)
  for _ = 1, MAX_QUESTIONS do
    if not reply then
      return broken_off(client, why, class, bad)
    end
    local answer = json.decode(reply.body)
    if answer.method == nil then
      return answer
    end
    asked = request(client, call, client:answered(answer, call))
    reply, why, class, bad = client.ctx.await(asked)
    if not reply and class ~= "canceled" and not call.idempotent then
      class = "doubt"
    end
  end
  return nil, "asks without an end", "permanent"
end

return M
