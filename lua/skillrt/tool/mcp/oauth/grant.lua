-- tool/mcp/oauth/grant.lua: requests to an authorization server: our client identity (declared, a document behind a
-- URL, or registered now: RFC 7591), and tokens for a code, for a refresh token, for a secret.
--
-- Each is a call of the run; store.lua keeps the tokens before the call's reply is recorded without them.

local address = require("skillrt.tool.mcp.oauth.address")
local base64 = require("skillrt.base.base64")
local discovery = require("skillrt.tool.mcp.oauth.discovery")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local server_of = require("skillrt.tool.mcp.server")
local store = require("skillrt.tool.mcp.oauth.store")
local tables = require("skillrt.base.tables")

local M = {}

local MAX_REPLY <const>, TIMEOUT <const> = 256 << 10, 30
local METHODS <const> = { client_secret_basic = true, client_secret_post = true, none = true }

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

-- What the journal gets of a reply: that something was kept, or the error.
local function kept_of(reply, keep)
  if reply.status ~= "ok" then
    return
  end
  local value = json.decode(reply.body or "")
  value = tables.object(value)
  local out = { kept = true }
  if type(value.error) == "string" or reply.code < 200 or reply.code >= 300 then
    local why = value.error_description
    out = { error = names.said(tostring(value.error or "none")),
      error_description = type(why) == "string" and names.said(why) or nil }
  else
    local message = keep(value)
    out = message and { error = "refused", error_description = message } or out
  end
  reply.body, reply.extra = encode(out), ""
end

-- A request to an authorization server; of its reply only whether `keep` accepted it is recorded.
local function post(ctx, server, request, keep)
  local reply, message, class, bad = ctx.await({
    kind = "http", method = "POST", url = request.url, headers = request.headers, body = request.body,
    declared = { url = server.said or server.url, headers = {}, body = request.what }, secrets = request.secrets,
    timeout = TIMEOUT, max_reply = MAX_REPLY, addresses = address.allowed(server, request.url),
    ca_file = server.ca_file, idempotent = true, acts = false, show = function() end,
    take = function(one) kept_of(one, keep) end,
    shown = ("mcp %s: %s of %s"):format(server.name, request.what, (address.parts(request.url) or {}).origin or "?"),
  })
  local said = json.decode((reply or bad or {}).body or "")
  said = tables.object(said)
  if reply and said.kept then
    return true
  elseif said.error then
    return nil, ("%s: refused: %s%s"):format(request.what, said.error,
      said.error_description and ": " .. said.error_description or ""), said.error
  end
  return nil, ("%s: %s"):format(request.what, message or "the reply holds none"), class
end

-- ---- our client identity ----

local function method_of(client, methods)
  if METHODS[client.method] then
    return client.method
  elseif not client.secret then
    return "none"
  end
  for _, one in ipairs({ "client_secret_basic", "client_secret_post", "none" }) do
    if discovery.has(methods, one) then
      return one
    end
  end
  return "client_secret_basic"
end

local function registered(ctx, server, found, redirect)
  local metadata, client = found.metadata, nil
  local methods, how = metadata.token_endpoint_auth_methods_supported, "none"
  if not discovery.has(methods, "none") then
    how = discovery.has(methods, "client_secret_post") and not discovery.has(methods, "client_secret_basic")
      and "client_secret_post" or methods and "client_secret_basic" or "none"
  end
  local ok, message = post(ctx, server, { url = metadata.registration_endpoint, what = "registration",
    headers = { ["Content-Type"] = "application/json", Accept = "application/json" },
    body = encode({ client_name = "skillrt", redirect_uris = { redirect }, response_types = { "code" },
      grant_types = { "authorization_code", "refresh_token" }, token_endpoint_auth_method = how }) }, function(value)
    if type(value.client_id) ~= "string" or value.client_id == "" then
      return "it gives no client_id"
    end
    client = { id = value.client_id, secret = type(value.client_secret) == "string" and value.client_secret or nil,
      method = value.token_endpoint_auth_method }
  end)
  return ok and client, message
end

---Our client identity at an authorization server.
---@param ctx table
---@param server table
---@param found skillrt.OauthFound
---@param redirect string?  nil: no client is registered
---@return table|nil client  { id, secret, method }
---@return string? message
function M.client(ctx, server, found, redirect)
  local declared, metadata, client, message = server.oauth or {}, found.metadata, nil, nil
  local document = (declared.client_id or ""):find("^https://") ~= nil
  if declared.client_id and (not document or metadata.client_id_metadata_document_supported == true) then
    client = { id = declared.client_id }
    if declared.client_secret then
      client.secret, message = server_of.filled(declared.client_secret)
    end
  elseif redirect and metadata.registration_endpoint then
    client, message = registered(ctx, server, found, redirect)
  else
    message = ("the authorization server %s registers no clients: set oauth = { client_id = ... }"):format(found.issuer)
  end
  if message then
    return nil, message
  end
  client.method = method_of(client, metadata.token_endpoint_auth_methods_supported)
  return client
end

-- ---- tokens ----

-- Stores a token; returns why it is invalid.
local function keep(server, grant, value)
  local access, refresh = value.access_token, value.refresh_token
  if type(access) ~= "string" or not access:find("^[\33-\126]+$") then
    return "it gives no access token"
  elseif tostring(value.token_type):lower() ~= "bearer" then
    return ("its token is no bearer token, but %s"):format(names.show(value.token_type))
  end
  local kept = store.read(server.url)
  kept.claimed, kept.want = nil, nil
  kept.token = { access = access, refresh = type(refresh) == "string" and refresh or grant.refresh,
    scope = type(value.scope) == "string" and value.scope or grant.scope, issuer = grant.issuer,
    endpoint = grant.endpoint, resource = grant.resource, client = grant.client }
  local _, message = store.write(server.url, kept)
  return message
end

---Requests a token, which is stored.
---@param ctx table
---@param server table
---@param grant table  { what, endpoint, issuer, resource, client, scope, refresh }
---@param form table<string, string>  grant_type and its own
---@return boolean|nil ok
---@return string? message
---@return string? error  "invalid_grant" ..., or a class
function M.token(ctx, server, grant, form)
  local client = grant.client
  local headers = { ["Content-Type"] = "application/x-www-form-urlencoded", Accept = "application/json" }
  local secrets = {}
  for _, name in ipairs({ "refresh_token", "code", "code_verifier" }) do
    secrets[#secrets + 1] = form[name] ~= "" and form[name] or nil
  end
  secrets[#secrets + 1] = client.secret
  form.resource = grant.resource
  if client.method == "client_secret_basic" then
    local both = base64.encode(address.escape(client.id) .. ":" .. address.escape(client.secret or ""))
    headers.Authorization, secrets[#secrets + 1] = "Basic " .. both, both
  else
    form.client_id = client.id
    form.client_secret = client.method == "client_secret_post" and client.secret or nil
  end
  return post(ctx, server, { url = grant.endpoint, what = grant.what, headers = headers, body = address.form(form),
    secrets = secrets }, function(value)
    return keep(server, grant, value)
  end)
end

return M
