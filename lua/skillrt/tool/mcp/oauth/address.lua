-- tool/mcp/oauth/address.lua: URLs as authorization compares them: origins, where secrets may be sent, which
-- addresses may be connected to; and texts encoded for a query.
--
-- Pure.

local M = {}

local PORTS <const> = { http = "80", https = "443" }

---@class skillrt.OauthAddress
---@field origin string  scheme, host and a port that is not the scheme's own
---@field host string
---@field scheme string
---@field path string    "" or "/..."

---The parts of a URL without a user; nil: it is invalid.
---@param url any
---@return skillrt.OauthAddress|nil
function M.parts(url)
  if type(url) ~= "string" or #url > 4096 or url:find("[^\33-\126]") or url:find("\\", 1, true) then
    return nil
  end
  local scheme, authority, path = url:match("^([hH][tT][tT][pP][sS]?)://([^/?#]+)([^?#]*)")
  if not scheme then
    return nil
  end
  scheme, authority = scheme:lower(), authority:lower()
  local host, port = authority:match("^(%[[%x:.]+%]):?(%d*)$")
  if not host then
    host, port = authority:match("^([%w._-]+):?(%d*)$")
  end
  if not host then
    return nil
  end
  local odd = port ~= "" and port ~= PORTS[scheme]
  return { origin = ("%s://%s%s"):format(scheme, host, odd and ":" .. port or ""), host = host, scheme = scheme,
    path = path == "/" and "" or path }
end

local function is_loopback(host)
  return host == "localhost" or host == "[::1]" or host:find("^127%.[%d.]+$") ~= nil
end

---Whether secrets may be sent there: over TLS, or on this machine.
---@param url any
---@return boolean
function M.is_safe(url)
  local parts = M.parts(url)
  return parts ~= nil and (parts.scheme == "https" or is_loopback(parts.host))
end

---Which addresses may be connected to on a server's behalf; nil: any. A server of the internet may name none of a
---private network, except its own host, and what its declaration allows.
---@param server table  { url, oauth }
---@param url string
---@return string?
function M.allowed(server, url)
  local own, to = M.parts(server.url), M.parts(url)
  if own and (is_loopback(own.host) or to and to.host == own.host) then
    return nil
  end
  return table.concat({ "public", table.unpack(server.oauth and server.oauth.addresses or {}) }, " ")
end

---Whether a resource, by its identifier, contains a URL.
---@param resource any
---@param url string
---@return boolean
function M.covers(resource, url)
  local outer, inner = M.parts(resource), M.parts(url)
  if not outer or not inner or outer.origin ~= inner.origin or resource:find("#", 1, true) then
    return false
  end
  local path = outer.path:gsub("/+$", "")
  return inner.path == outer.path or inner.path:sub(1, #path + 1) == path .. "/" or inner.path == path
end

---@param text string
---@return string
function M.escape(text)
  return (text:gsub("[^%w._~-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

---@param text string
---@return string
function M.unescape(text)
  return (text:gsub("+", " "):gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

---A form, in the order of its names.
---@param fields table<string, string>
---@return string
function M.form(fields)
  local out = {}
  for name, value in pairs(fields) do
    out[#out + 1] = M.escape(name) .. "=" .. M.escape(value)
  end
  table.sort(out)
  return table.concat(out, "&")
end

---The words of scopes, each once.
---@param ... string?
---@return string?  nil: none
function M.scopes(...)
  local out, seen = {}, {}
  for i = 1, select("#", ...) do
    for word in (select(i, ...) or ""):gmatch("[^%s]+") do
      out[#out + 1] = not seen[word] and word or nil
      seen[word] = true
    end
  end
  return out[1] and table.concat(out, " ")
end

return M
