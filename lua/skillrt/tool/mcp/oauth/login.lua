-- tool/mcp/oauth/login.lua: a person's login to a server: the address that their browser opens, and what the address
-- says that it is sent back to.
--
-- Knows ctx, no terminal and no socket: what is shown, and where the answer comes from, is cli/command/login.lua's.

local address = require("skillrt.tool.mcp.oauth.address")
local base64 = require("skillrt.base.base64")
local discovery = require("skillrt.tool.mcp.oauth.discovery")
local files = require("skillrt.base.files")
local grant_of = require("skillrt.tool.mcp.oauth.grant")
local messages = require("skillrt.tool.mcp.messages")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local server_of = require("skillrt.tool.mcp.server")
local store = require("skillrt.tool.mcp.oauth.store")

local M = {}

local TIMEOUT <const> = 30

---@class skillrt.OauthPlan  a login under way
---@field address string?    what the browser opens; nil: no person is needed, it is done
---@field issuer string
---@field state string
---@field redirect string
---@field verifier string
---@field found skillrt.OauthFound
---@field client table
---@field scope string?

-- What the server says to somebody who brings no token.
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

---Finds out who gives tokens for a server, says who we are, and makes the address that a person opens.
---@param ctx table
---@param server table    { name, url, oauth, ca_file, headers }
---@param options table   { redirect, secrets = { state, verifier }: texts that nobody can guess; version }
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
    local ok, why = require("skillrt.tool.mcp.oauth").by_secret(ctx, server, challenge)
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

---What an address says that a browser was sent to: the code; nil and why it holds none that is taken.
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
    return nil, "the address is not of this login (its state is another)"
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
