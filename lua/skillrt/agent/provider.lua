-- agent/provider.lua: the address of a model's provider and its key: from the agent's own fields, else from the
-- variables that the official clients read.
--
-- The key of a default variable goes only to the provider's own address and to the address in the environment: an
-- agent with its own address names its key. A key is in headers and nowhere else; what is declared, shown or recorded
-- has a placeholder. Knows no messages and no runs.

local files = require("skillrt.base.files")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")
local url_of = require("skillrt.agent.url")

local M = {}

---The fields that all models have.
M.FIELDS = {
  model = { type = "text" },
  url = { type = "text" },
  key_env = { type = "text" },
  key_file = { type = "text" },
  headers = { type = "string", map = true, default = {} },
  max_tokens = { type = "positive" },
  system = { type = "text" },
  output = { type = "table" },
  extra = { type = "table" },
  effort = { type = "text" },
  stream = { type = "boolean", default = true },
  asks = { type = "boolean", default = true },
  reads = { type = "boolean", default = true },
  max_turns = { type = "positive", default = 50 },
  max_repairs = { type = "count", default = 2 },
  prices = { type = "table" },
  pace = { type = "table" },
  timeout = { type = "seconds" },
  connect_timeout = { type = "seconds" },
  stall = { type = "seconds", default = 300 },
  max_reply = { type = "positive", default = 64 << 20 },
  ca_file = { type = "text" },
}

tables.fill(M.FIELDS, require("skillrt.agent.tools").FIELDS)

---@class skillrt.Vendor
---@field url string         the provider's own address
---@field path string        the path below it
---@field root string        what an address without a path gets; with always_root: every address
---@field token_env string?
---@field url_env string
---@field key_env string
---@field model string       the default model
---@field max_tokens integer?

local function variable(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

local function key_in(path)
  local text, message = files.read(path, 65536)
  if not text then
    return nil, "key_file: " .. message
  elseif files.is_open_to_others(path) then
    return nil, ("key_file: %s can be read by others; chmod 600 it"):format(path)
  end
  local key = text:match("^%s*(%S+)%s*$")
  return key, not key and ("key_file: %s must hold the key and nothing else"):format(path) or nil
end

-- The key, and whether it is a bearer token; nil without a message: none is needed.
local function key_of(agent, vendor, own_address)
  if agent.key_file then
    return key_in(agent.key_file)
  elseif agent.key_env then
    local key = variable(agent.key_env)
    return key, not key and ("%s is not set; it must hold the API key"):format(agent.key_env) or nil
  elseif own_address then
    return nil
  end
  local key = variable(vendor.key_env)
  local token = not key and vendor.token_env and variable(vendor.token_env)
  if token then
    return token, nil, true
  elseif not key and not variable(vendor.url_env) then
    return nil, ("%s is not set; it must hold the API key (skillrt agents shows what is found)"):format(vendor.key_env)
  end
  return key
end

---@class skillrt.Endpoint
---@field url string
---@field declared string   the address as it is declared
---@field shown string
---@field key string?
---@field is_token boolean?  it is sent as a bearer token
---@field vendors_own boolean  the provider's own address

---Where to ask, and with which key.
---@param agent table
---@param vendor skillrt.Vendor
---@return skillrt.Endpoint|nil
---@return string? message
function M.endpoint(agent, vendor)
  local own = agent.url
  local base = own or variable(vendor.url_env) or vendor.url
  local head = base:gsub("/+$", "")
  if not url_of.is_url(head) then
    local what = own and "url" or vendor.url_env
    return nil, ("%s %s does not begin with http:// or https://"):format(what, names.show(url_of.shown(base)))
  end
  local path = vendor.path
  if head:sub(-#vendor.root) ~= vendor.root and (vendor.always_root or not head:find("^%a+://[^/]+/")) then
    path = vendor.root .. path
  end
  local key, message, is_token = key_of(agent, vendor, own ~= nil)
  if message then
    return nil, message
  elseif key and not url_of.is_header_value(key) then
    return nil, "the key holds a line break or control character"
  end
  return {
    url = head .. path,
    declared = (own and url_of.shown(own) or ("{env.%s}"):format(vendor.url_env)) .. path,
    shown = url_of.shown(head .. path),
    key = key,
    is_token = is_token,
    vendors_own = head:find(vendor.url, 1, true) == 1,
  }
end

---What is wrong with the headers and the address of an agent.
---@param agent table
---@param where string
---@return string? message
function M.check(agent, where)
  local problem = url_of.problem_of_headers(agent.headers, where, "accept")
  if problem then
    return problem
  end
  for name, rate in pairs(agent.pace or {}) do
    if name ~= "requests" and name ~= "tokens" or type(rate) ~= "number" or rate <= 0 then
      return ('%s: field "pace" must be { requests =, tokens = } per minute'):format(where)
    end
  end
  if agent.url and not url_of.is_url(agent.url) then
    return ('%s: field "url" must begin with http:// or https://, not %s'):format(where, names.show(agent.url))
  elseif agent.key_env and not agent.key_env:find("^[%a_][%w_]*$") then
    return ('%s: field "key_env" must be a variable\'s name, not %s'):format(where, names.show(agent.key_env))
  end
end

return M
