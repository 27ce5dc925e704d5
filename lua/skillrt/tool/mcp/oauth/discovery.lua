-- tool/mcp/oauth/discovery.lua: which authorization server issues tokens for a server, and how: from its refusal
-- (WWW-Authenticate), the metadata of the resource (RFC 9728) and of its authorization server (RFC 8414, OpenID), or
-- the defaults of the protocol of 2025-03-26.
--
-- Checks what others state about themselves, and names what it refuses. Knows ctx, keeps nothing.

local address = require("skillrt.tool.mcp.oauth.address")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

local MAX_METADATA <const>, TIMEOUT <const> = 256 << 10, 30
local RESOURCE <const> = "/.well-known/oauth-protected-resource"
local SERVER <const>, OPENID <const> = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"

---@class skillrt.OauthChallenge  the content of a refusal
---@field error string?
---@field scope string?
---@field metadata string?  the URL of the resource's metadata

---@class skillrt.OauthFound
---@field resource string
---@field issuer string
---@field metadata table    of the authorization server
---@field scopes string?    of the resource
---@field says_iss boolean  its redirects name it

---The content of a refusal's headers.
---@param extra string?  lines "Name: value"
---@return skillrt.OauthChallenge
function M.challenge(extra)
  local out = {}
  for name, value in (extra or ""):gmatch("([%w-]+):[ \t]*([^\n]*)") do
    if name:lower() == "www-authenticate" then
      value = value:sub(1, 8192)
      for word, at in value:gmatch("%f[%w_]([%w_]+)%s*=%s*()") do
        local key = word:lower()
        out[key] = out[key] or value:match('^"([^"]*)"', at) or value:match("^[^%s,]*", at)
      end
    end
  end
  return { error = out.error, scope = address.scopes(out.scope), metadata = out.resource_metadata }
end

-- The JSON at a URL; or nil, why not, and whether it is only missing.
local function fetch(ctx, server, url)
  local own = server.said and url:find(assert(address.parts(server.url)).origin, 1, true) == 1 -- it may hold secrets
  local reply, message, _, bad = ctx.await({
    kind = "http", url = url, headers = { Accept = "application/json" }, timeout = TIMEOUT, max_reply = MAX_METADATA,
    addresses = address.allowed(server, url), ca_file = server.ca_file, acts = false,
    declared = own and { url = server.said .. " " .. (url:match("%.well%-known/([%w-]+)") or "") } or nil,
    shown = ("mcp %s: %s"):format(server.name, own and server.said .. ": metadata" or url),
  })
  local code = bad and bad.code or 0
  if not reply then
    return nil, code >= 300 and code < 400 and url .. " redirects, which is not followed" or url .. ": " .. message,
      code >= 400 and code < 500
  end
  local value = json.decode(reply.body or "")
  if type(value) ~= "table" then
    return nil, url .. ": holds no object"
  end
  return value
end

-- The first of several that exists; nil without a message: none does.
local function first(ctx, server, list)
  for _, url in ipairs(list) do
    local value, message, absent = fetch(ctx, server, url)
    if value or not absent then
      return value, message, url
    end
  end
end

local function resource_of(ctx, server, challenge)
  local own = assert(address.parts(server.url))
  local list = { own.origin .. RESOURCE .. own.path, own.path ~= "" and own.origin .. RESOURCE or nil }
  if challenge.metadata then
    if not address.is_safe(challenge.metadata) then
      return nil, ("names %s for its metadata: https is needed"):format(names.show(challenge.metadata))
    end
    list = { challenge.metadata }
  end
  local value, message = first(ctx, server, list)
  if not value then
    return nil, message or challenge.metadata and challenge.metadata .. ": is not there"
  elseif not address.covers(value.resource, server.url) then
    return nil, ("its metadata describes another resource, %s"):format(names.show(value.resource))
  end
  return value
end

-- The URLs of an issuer's metadata.
local function places(issuer)
  local at = assert(address.parts(issuer))
  local path = at.path:gsub("/+$", "")
  if path == "" then
    return { at.origin .. SERVER, at.origin .. OPENID }
  end
  return { at.origin .. SERVER .. path, at.origin .. OPENID .. path, at.origin .. path .. OPENID }
end

local ENDPOINTS <const> = { "authorization_endpoint", "token_endpoint", "registration_endpoint" }

---Whether a list from outside holds a text.
---@param list any
---@param wanted string
---@return boolean
function M.has(list, wanted)
  return tables.has(tables.object(list), wanted)
end

-- The texts of a list of others as scopes.
local function words_of(list)
  local out = {}
  for _, one in ipairs(tables.object(list)) do
    out[#out + 1] = type(one) == "string" and one or nil
  end
  return address.scopes(table.concat(out, " "))
end

-- What is wrong with an issuer's metadata; nil: nothing.
local function problem_of(metadata, issuer, legacy, grant)
  local said, own = address.parts(metadata.issuer), assert(address.parts(issuer))
  local same = said and (legacy and said.origin == own.origin
    or metadata.issuer:gsub("/$", "") == issuer:gsub("/$", ""))
  if not same then
    return ("the authorization server %s says that it is another one, %s"):format(issuer, names.show(metadata.issuer))
  end
  for _, name in ipairs(ENDPOINTS) do
    local url = metadata[name]
    if url ~= nil and not address.is_safe(url) then
      return ("the authorization server %s: its %s, %s, is not https"):format(issuer, name, names.show(url))
    end
  end
  if not metadata.token_endpoint or grant == "authorization_code" and not metadata.authorization_endpoint then
    return ("the authorization server %s names no endpoints"):format(issuer)
  elseif grant == "authorization_code" and not M.has(metadata.code_challenge_methods_supported, "S256") then
    return ("the authorization server %s does not announce PKCE (S256)"):format(issuer)
  end
end

-- Servers without resource metadata are their own authorization servers.
local function legacy_of(ctx, server, origin)
  local metadata, message = first(ctx, server, { origin .. SERVER, origin .. OPENID })
  if not metadata and not message then
    metadata = { issuer = origin, authorization_endpoint = origin .. "/authorize", token_endpoint = origin .. "/token",
      registration_endpoint = origin .. "/register", code_challenge_methods_supported = { "S256" } }
  end
  return metadata, message
end

---Which authorization server issues tokens for a server, and how.
---@param ctx table
---@param server table  { name, url, oauth, ca_file }; tokens may be sent there
---@param challenge skillrt.OauthChallenge
---@param grant "authorization_code"|"client_credentials"
---@return skillrt.OauthFound|nil found
---@return string? message
function M.find(ctx, server, challenge, grant)
  local own = assert(address.parts(server.url))
  local resource, message = resource_of(ctx, server, challenge)
  if message then
    return nil, message
  end
  local list = resource and resource.authorization_servers
  local issuer = resource and type(list) == "table" and list[1] or own.origin
  local legacy = not (type(list) == "table" and list[1])
  local metadata
  if not address.is_safe(issuer) then
    return nil, ("names the authorization server %s: https is needed"):format(names.show(issuer))
  elseif legacy then
    metadata, message = legacy_of(ctx, server, issuer)
  else
    metadata, message = first(ctx, server, places(issuer))
  end
  message = message or not metadata and ("the authorization server %s publishes no metadata"):format(issuer)
    or problem_of(metadata, issuer, legacy, grant)
  if message then
    return nil, message
  end
  return { resource = resource and resource.resource or (server.url:gsub("#.*", "")), issuer = metadata.issuer,
    metadata = metadata, says_iss = metadata.authorization_response_iss_parameter_supported == true,
    scopes = resource and words_of(resource.scopes_supported) }
end

return M
