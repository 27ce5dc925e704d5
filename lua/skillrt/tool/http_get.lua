-- tool/http_get.lua: the tool `http_get`: the text behind a URL. It connects only to addresses of the public
-- internet, whatever a name resolves to; further networks must be declared.
--
-- The result was written by others, and is marked so. Knows URLs, no sockets.

local names = require("skillrt.base.names")

local M = {}

M.FIELDS = {
  hosts = { type = "text", list = true }, -- only these, and names below "*.example.org"
  addresses = { type = "text", list = true, default = {} }, -- networks in addition to the public ones
  headers = { type = "string", map = true, default = {} },
  timeout = { type = "seconds", default = 60 },
  max_reply = { type = "positive", default = 4 << 20 },
  ca_file = { type = "text" },
}

local INPUT <const> = {
  type = "object",
  properties = { url = { type = "string", maxLength = 4000 } },
  required = { "url" },
  additionalProperties = false,
}

-- The host of a URL with a host and no user; else nil.
local function host_of(url)
  if url:find("[%s%c\\]") then
    return nil
  end
  local authority = url:match("^[hH][tT][tT][pP][sS]?://([^/?#]+)")
  local host = authority and not authority:find("@", 1, true) and (authority:match("^(%[[%x:.]+%]):?%d*$")
    or authority:match("^([%w.-]+):?%d*$"))
  return host and host:lower():gsub("%.$", "")
end

local function is_among(host, hosts)
  for _, one in ipairs(hosts) do
    local below = one:match("^%*(%..+)$")
    if host == one:lower() or below and host:sub(-#below) == below:lower() then
      return true
    end
  end
  return false
end

local function perform(tool, ctx, arguments)
  local host = host_of(arguments.url)
  if not host then
    return nil, "the url must be http:// or https://, with a host and without a user"
  elseif tool.hosts and not is_among(host, tool.hosts) then
    return nil, ("the host %s is not among those that may be asked: %s"):format(names.show(host),
      table.concat(tool.hosts, ", "))
  end
  local reply, message = ctx.await({
    kind = "http", method = "GET", url = arguments.url, headers = tool.headers, timeout = tool.timeout,
    max_reply = tool.max_reply, ca_file = tool.ca_file, acts = false,
    addresses = table.concat({ "public", table.unpack(tool.addresses) }, " "),
  })
  return reply and reply.body, message
end

-- Public headers. Others, which may hold a key, are sent only to hosts named in the skill, not to any that a model
-- chooses.
local OPEN <const> = { accept = true, ["accept-language"] = true, ["user-agent"] = true }

---@param given table
---@param where string
---@return table|nil parts
---@return string? message
function M.make(given, where)
  for _, one in ipairs(given.addresses) do
    if not one:find("^[%x:.]+/?%d*$") then
      return nil, ('%s: addresses are networks such as "10.1.0.0/16", not %s'):format(where, names.show(one))
    end
  end
  for _, name in ipairs(given.hosts and {} or names.sorted(given.headers)) do
    if not OPEN[name:lower()] then
      local text = "%s: the header %s would go to any host that a model names; say `hosts`"
      return nil, text:format(where, names.show(name))
    end
  end
  given.description = given.description or "Gets the text behind a URL."
  given.input, given.perform, given.source, given.acts, given.outside = INPUT, perform, "built in", false, true
  return given
end

return M
