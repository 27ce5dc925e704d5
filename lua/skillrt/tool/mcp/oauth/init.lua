-- tool/mcp/oauth/init.lua: the authorization of a server behind a URL: the token that is sent along, and what happens
-- if it is refused: a new one by a refresh token or a secret, or a person is asked to log in.
--
-- Decisions are recorded, tokens are not: they are in store.lua's files. Called by http.lua; a person's login by
-- cli/command/login.lua, which shows the address and accepts the answer.

local address = require("skillrt.tool.mcp.oauth.address")
local base64 = require("skillrt.base.base64")
local discovery = require("skillrt.tool.mcp.oauth.discovery")
local files = require("skillrt.base.files")
local grant_of = require("skillrt.tool.mcp.oauth.grant")
local json = require("skillrt.base.json")
local messages = require("skillrt.tool.mcp.messages")
local names = require("skillrt.base.names")
local privileges = require("skillrt.base.privileges")
local server_of = require("skillrt.tool.mcp.server")
local store = require("skillrt.tool.mcp.oauth.store")

local M = {}

-- How often a request is authorized again, and how often another process's refresh is waited for (each half a
-- second).
local MAX_AGAIN <const>, MAX_WAITS <const> = 4, 120

---@class skillrt.OauthServer
---@field name string
---@field url string     filled in
---@field said string?   as declared, if that differs
---@field oauth table?
---@field ca_file string?
---@field headers table?

-- A server in the form that authorization needs.
local function seen(client, call)
  local server = client.server
  return { name = server.name, url = call.url, said = server.url, oauth = server.oauth, ca_file = server.ca_file }
end

-- The stored token for a server, if it belongs to the client that the skill declares.
local function usable(server)
  local token = store.read(server.url).token
  local id = server.oauth and server.oauth.client_id
  if type(token) ~= "table" or type(token.client) ~= "table" or not address.is_safe(server.url) then
    return false
  end
  local other = id and not id:find("^https://") and token.client.id ~= id
  return not other and token
end

---The access token that is sent along with a request; nil: none is known.
---@param client skillrt.McpClient
---@param call table
---@return string?
function M.token(client, call)
  local live = client.live
  if live.token == nil then
    live.token = usable(seen(client, call))
  end
  call.sent = live.token and live.token.access or ""
  return live.token and live.token.access or nil
end

-- Whether all scopes of a text are among those of another.
local function holds(scopes, wanted)
  return address.scopes(scopes, wanted) == address.scopes(scopes)
end

-- What to do about a refusal: "again", "refresh", "wait", "secret", "person", "never".
local function look(client, call, challenge)
  local server = seen(client, call)
  local token = usable(server)
  client.live.token = token
  local narrow = challenge.error == "insufficient_scope"
  if token and token.access ~= call.sent then
    return "again"
  elseif narrow and token and holds(token.scope, challenge.scope) then
    return "never"
  elseif server.oauth and server.oauth.grant == "client_credentials" then
    return store.claim(server.url) and "secret" or "wait"
  elseif not narrow and token and token.refresh then
    return store.claim(server.url) and "refresh" or "wait"
  end
  local kept = store.read(server.url)
  kept.want = { scope = address.scopes(narrow and token and token.scope or nil, challenge.scope),
    metadata = challenge.metadata, oauth = server.oauth or nil, ca_file = server.ca_file }
  store.write(server.url, kept)
  return "person"
end

---Gets a token for a client's own secret, without a person.
---@param ctx table
---@param server table
---@param challenge skillrt.OauthChallenge
---@return boolean|nil ok
---@return string? message
function M.by_secret(ctx, server, challenge)
  local found, message = discovery.find(ctx, server, challenge, "client_credentials")
  local client
  if found then
    client, message = grant_of.client(ctx, server, found)
  end
  if not client then
    return nil, message
  end
  local scope = address.scopes(server.oauth.scope, challenge.scope or found.scopes)
  return grant_of.token(ctx, server, { what = "a token", endpoint = found.metadata.token_endpoint,
    issuer = found.issuer, resource = found.resource, client = client, scope = scope },
    { grant_type = "client_credentials", scope = scope })
end

local function quoted(text)
  return text:find("^[%w:/._~-]+$") and text or "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Handles a refusal: true; or nil, why not, its class, and whether to check again.
local PERFORM <const> = {}

-- A person logs in; true: they confirm that they have.
function PERFORM.person(client, _, challenge)
  local server = client.server
  local answer, message, class = client.ctx.ask({
    header = "mcp " .. server.name,
    question = ('The server %s requires a login%s. In a terminal, as the same user, run: skillrt login %s '
      .. '-- then answer "done".'):format(server.name, challenge.scope and " (" .. challenge.scope .. ")" or "",
      quoted(server.url)),
    options = { { id = "done", description = "logged in: continue" }, { id = "fail", description = "fail" } },
  })
  return answer == "done" or nil, message or "a person did not log in", class or "denied"
end

-- Gets a new token by the refresh token.
function PERFORM.refresh(client, call)
  local server = seen(client, call)
  local token = client.live.token or {} -- a resume that has the result needs none
  local ok, message, why = grant_of.token(client.ctx, server, { what = "a new token", issuer = token.issuer,
    endpoint = token.endpoint or server.url, resource = token.resource or server.url, scope = token.scope,
    client = token.client or { id = "" }, refresh = token.refresh },
    { grant_type = "refresh_token", refresh_token = token.refresh or "" })
  local gone = why == "invalid_grant" or why == "invalid_client" or why == "unauthorized_client"
  if not ok then
    privileges.of(client.ctx).drawn(function() return store.release(server.url, gone and token.refresh) or 1 end)
  end
  return ok, message, nil, gone
end

function PERFORM.secret(client, call, challenge)
  return M.by_secret(client.ctx, seen(client, call), challenge)
end

---Authorizes again what a server refused: true: the request may be sent again; nil: the refusal stands, with the
---reason.
---@param client skillrt.McpClient
---@param call table
---@param bad table  the reply that refuses
---@return boolean|nil again
---@return string? message
---@return string? class
function M.again(client, call, bad)
  local ctx, challenge = client.ctx, discovery.challenge(bad.extra)
  if bad.code == 403 and challenge.error ~= "insufficient_scope" then
    return nil
  elseif not address.is_safe(call.url) then
    return nil, "wants a token, which is sent over https alone, or to this machine"
  end
  call.authorized = (call.authorized or 0) + 1
  for _ = 1, call.authorized <= MAX_AGAIN and MAX_WAITS or 0 do
    local what = privileges.of(ctx).drawn(function() return look(client, call, challenge) end)
    if what == "again" then
      return true
    elseif what == "never" then
      return nil, ("refuses what it has authorized (%s)"):format(challenge.scope or "no scope"), "denied"
    elseif what == "wait" then
      ctx.sleep(0.5)
    else
      local ok, message, class, gone = PERFORM[what](client, call, challenge)
      client.live.token = nil
      if not gone then
        return ok, message, class or "permanent"
      end
    end
  end
  return nil, "refuses every token that it is given", "denied"
end

-- ---- a person's login ----

local TIMEOUT <const> = 30

---@class skillrt.OauthPlan  a login under way
---@field address string?    what the browser opens; nil: no person is needed, it has finished
---@field issuer string
---@field state string
---@field redirect string
---@field verifier string
---@field found skillrt.OauthFound
---@field client table
---@field scope string?

-- The server's answer to a request without a token.
local function probed(ctx, server, version)
  local headers = server_of.filled_map(server.headers or {}) or {}
  headers["Content-Type"], headers.Accept = "application/json", "application/json, text/event-stream"
  local hello = messages.initialize({ server = { elicitation = false }, version = version })
  local reply, message, _, bad = ctx.await({ kind = "http", method = "POST", url = server.url, headers = headers,
    body = assert(json.encode(hello, { sorted = true })), timeout = TIMEOUT, ca_file = server.ca_file, acts = false,
    shown = server.url })
  if not reply and not (bad and bad.code == 401) then
    return nil, message
  end
  return discovery.challenge(bad and bad.extra)
end

---Finds the authorization server, identifies the client, and makes the address that a person opens.
---@param ctx table
---@param server table    { name, url, oauth, ca_file, headers }
---@param options table   { redirect, secrets = { state, verifier }: unguessable texts; version }
---@return skillrt.OauthPlan|nil plan
---@return string? message
function M.begin(ctx, server, options)
  if not address.is_safe(server.url) then
    return nil, "tokens are sent over https alone, or to this machine"
  end
  local want = store.read(server.url).want
  local challenge, message = want and { scope = want.scope, metadata = want.metadata }, nil
  if not want then
    challenge, message = probed(ctx, server, options.version)
  end
  if not challenge then
    return nil, message
  end
  if server.oauth and server.oauth.grant == "client_credentials" then
    local ok, why = M.by_secret(ctx, server, challenge)
    return ok and {}, why
  end
  local found, client
  found, message = discovery.find(ctx, server, challenge, "authorization_code")
  if found then
    client, message = grant_of.client(ctx, server, found, options.redirect)
  end
  if not client then
    return nil, message
  end
  local scope = address.scopes(server.oauth and server.oauth.scope, challenge.scope)
    or found.scopes
  if discovery.has(found.metadata.scopes_supported, "offline_access") then
    scope = address.scopes(scope, "offline_access")
  end
  local plan = { found = found, client = client, scope = scope, issuer = found.issuer, redirect = options.redirect,
    state = options.secrets[1], verifier = options.secrets[2] }
  local endpoint = found.metadata.authorization_endpoint
  plan.address = endpoint .. (endpoint:find("?", 1, true) and "&" or "?") .. address.form({
    response_type = "code", client_id = client.id, redirect_uri = options.redirect, state = plan.state, scope = scope,
    code_challenge = base64.of_url(base64.of_hex(files.digest(plan.verifier))), code_challenge_method = "S256",
    resource = found.resource })
  return plan
end

---The code in the address that the browser was sent to; or nil and why it holds none that is accepted.
---@param plan skillrt.OauthPlan
---@param url string
---@return string|nil code
---@return string? message
function M.code(plan, url)
  local said = {}
  for name, value in (url:match("%?([^#]*)") or ""):gmatch("([^&=]+)=([^&]*)") do
    said[name] = said[name] or address.unescape(value)
  end
  if said.state ~= plan.state then
    return nil, "the address belongs to another login (its state differs)"
  elseif said.iss and said.iss ~= plan.issuer or not said.iss and plan.found.says_iss then
    return nil, ("the address is not of the authorization server %s (its iss is %s)"):format(plan.issuer,
      names.show(said.iss))
  elseif said.error then
    return nil, ("%s refuses: %s%s"):format(plan.issuer, names.said(said.error),
      said.error_description and ": " .. names.said(said.error_description) or "")
  end
  return said.code, not said.code and "the address holds no code" or nil
end

---Gets the token for a code.
---@param ctx table
---@param server table
---@param plan skillrt.OauthPlan
---@param code string
---@return boolean|nil ok
---@return string? message
function M.finish(ctx, server, plan, code)
  return grant_of.token(ctx, server, { what = "the token", endpoint = plan.found.metadata.token_endpoint,
    issuer = plan.issuer, resource = plan.found.resource, client = plan.client, scope = plan.scope },
    { grant_type = "authorization_code", code = code, redirect_uri = plan.redirect, code_verifier = plan.verifier })
end

return M
