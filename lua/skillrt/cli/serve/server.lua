-- cli/serve/server.lua: requests and replies of `skillrt serve`: authorization, routing, requests that wait, and
-- idempotency keys.
--
-- Called by cli/command/serve.lua. Knows no sockets: skillrt.server handles those.

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local judge = require("skillrt.base.json_schema").judge
local operations = require("skillrt.cli.serve.operations")
local tables = require("skillrt.base.tables")

local M = {}

local WAIT_MS <const>, GLANCE_MS <const> = 30000, 20 -- how long to wait for a reply, and how often to check
local MOST_KEYS <const>, LONGEST_KEY <const> = 1000, 200
local HEADERS <const> = { ["Content-Type"] = "application/json", ["Cache-Control"] = "no-store",
  ["X-Content-Type-Options"] = "nosniff", ["Referrer-Policy"] = "no-referrer",
  ["Cross-Origin-Resource-Policy"] = "same-origin" }

---@class skillrt.cli.serve.Server
---@field http userdata               of skillrt.server
---@field runs skillrt.cli.serving.Runs
---@field skills table
---@field paths string[]
---@field agent string[]
---@field token string|nil            nil: a socket that only its owner can open
---@field key string                  for webhooks and for the links of questions
---@field deliveries table|nil
---@field hosts table<string, boolean>  allowed Host headers, where there is a token
---@field waiting table[]             { request, ask, until_ms }
---@field keys table<string, table>   { digest of the request; status, body, more: its reply; others: waiting requests }
local Server = {}
Server.__index = Server

---@return skillrt.cli.serve.Server
function M.new(options)
  local self = setmetatable({ waiting = {}, keys = {}, order = {}, first_key = 1, hosts = {} }, Server)
  tables.fill(self, options)
  self.events = require("skillrt.cli.serve.events").new(self.http)
  self.mcp = require("skillrt.cli.serve.mcp").new(self)
  self.description = require("skillrt.cli.serve.openapi").of(self.token ~= nil)
  return self
end

-- ---- replies ----

local function headers_of(more)
  return tables.fill(tables.fill({}, HEADERS), more)
end

function Server:reply(request, status, value, more)
  local text = type(value) == "string" and value or assert(json.encode(value))
  if status == 201 and not more then
    more = { Location = "/runs/" .. request.run }
  end
  self.http:reply(request.id, status, headers_of(more), text)
  local key = request.kept
  if key and status == 503 then -- it did nothing; the next try may act
    self.keys[request.key] = nil
  end
  if key then
    request.kept, key.status, key.body, key.more = nil, status, text, more
    for _, other in ipairs(key.others) do
      self:reply(other, status, text, more)
    end
    key.others = {}
  end
end

function Server:refuse(request, status, code, message, more)
  local said = require("skillrt.base.record").printable(message) -- it may repeat text from an untrusted client
  local _, value = operations.refused(status, code, said)
  self:reply(request, status, value, more)
end

-- ---- authorization ----

-- Compares two texts in constant time.
local function is_same(a, b)
  return core.sha256(a) == core.sha256(b)
end

-- Whether a request is authorized; false: it was refused. A page of another origin never is.
local function may_ask(self, request)
  local one = operations.find(request.method, request.path)
  local is_open = one and one.open
  local headers = request.headers
  local host = (headers.host or ""):lower()
  if self.token and not self.hosts[host] then
    self:refuse(request, 403, "host", "the Host header names another server")
  elseif headers.origin and not is_open and not (self.token and headers.origin:lower() == "http://" .. host) then
    self:refuse(request, 403, "origin", "requests from pages of another origin are refused")
  elseif self.token and request.path ~= "/" and not is_open
    and not is_same(headers.authorization or "", "Bearer " .. self.token) then
    self:refuse(request, 401, "token", "Authorization: Bearer TOKEN is missing, or the token is wrong",
      { ["WWW-Authenticate"] = "Bearer" })
  else
    return true
  end
  return false
end

-- ---- routing ----

local READ <const> = {
  integer = math.tointeger,
  boolean = function(text)
    return ({ ["true"] = true, ["false"] = false })[text]
  end,
  array = function(text)
    local list = json.array({})
    for word in text:gmatch("[^,]+") do
      list[#list + 1] = word
    end
    return list
  end,
}

-- The parameters of a request, checked by their schemas; or nil and what is wrong with them.
local function read_query(one, request)
  local query, properties = {}, {}
  for name, text in pairs(request.query) do
    local schema = (one.query or {})[name]
    local read = schema and READ[schema.type]
    query[name] = text
    if read then
      query[name] = read(text)
      query[name] = query[name] == nil and text or query[name]
    end
  end
  tables.fill(properties, one.query)
  local ok, why = judge({ type = "object", properties = properties, additionalProperties = false }, query, "the query")
  return ok and query, why
end

-- The body of a request, checked by its schema; or nil, a status and what is wrong with it.
local function read_body(one, request)
  local value, why = json.decode(request.body == "" and "{}" or request.body)
  if request.body ~= "" and not (request.headers["content-type"] or ""):lower():find("^application/json") then
    return nil, 415, "Content-Type must be application/json"
  elseif value == nil then
    return nil, 400, "the body: " .. tostring(why)
  end
  local ok, problem = judge(one.body, value, "the body")
  return ok and value, 422, problem
end

-- ---- idempotency keys: each request with a key is performed once ----

-- Whether a request with a key is to be performed; false: it got the stored reply, or waits for that of the first.
local function is_first(self, one, request)
  local key = request.headers["idempotency-key"]
  if not key or not one.acts then
    return true
  elseif #key > LONGEST_KEY or key:find("[%c]") or key == "" then
    self:refuse(request, 400, "invalid", ("an Idempotency-Key has from 1 to %d characters"):format(LONGEST_KEY))
    return false
  end
  local digest, known = core.sha256(request.path .. "\n" .. request.body), self.keys[key]
  if known and known.digest ~= digest then
    self:refuse(request, 422, "key", "this Idempotency-Key was used for another request")
  elseif known and known.status then
    self:reply(request, known.status, known.body, known.more)
  elseif known then
    table.insert(known.others, request)
  else
    request.key, request.kept = key, { digest = digest, others = {} }
    self.keys[key] = request.kept
    table.insert(self.order, key)
    if #self.order > MOST_KEYS then
      self.keys[table.remove(self.order, 1)] = nil
    end
    return true
  end
  return false
end

-- ---- requests ----

---Begins a stream of server-sent events.
---@param request table
---@return boolean
function Server:stream(request)
  request.streams = self.http:stream(request.id, headers_of({ ["Content-Type"] = "text/event-stream" }))
  return request.streams
end

local function follow(self, request)
  local last = request.headers["last-event-id"]
  local from = last and math.tointeger(tonumber(last)) or not last and 0
  if not from or from < 0 then
    return self:refuse(request, 400, "invalid", "Last-Event-ID is the number of a record")
  elseif self:stream(request) then
    self.http:push(request.id, "retry: 1000\n\n")
    self.events:add(request.id, request.dir, from + 1)
  end
end

local function perform(self, request)
  local method = request.method == "HEAD" and "GET" or request.method
  local page = request.path == "/" and method == "GET" and require("skillrt.cli.serve.pages").page()
  if page then
    return self:reply(request, 200, page.html, { ["Content-Type"] = "text/html; charset=utf-8",
      ["Content-Security-Policy"] = page.policy })
  end
  if request.path == "/mcp" then
    return self.mcp:take(request)
  end
  local one, named = operations.find(method, request.path)
  if not one and named[1] then
    return self:refuse(request, 405, "method", "this path takes " .. table.concat(named, ", "),
      { Allow = table.concat(named, ", ") })
  elseif not one then
    return self:refuse(request, 404, "missing", "there is no such path; GET /openapi.json lists the paths")
  end
  local query, wrong = read_query(one, request)
  if not query then
    return self:refuse(request, 400, "invalid", wrong)
  end
  request.query = query
  if one.body then
    local body, status, why = read_body(one, request)
    if not body then
      return self:refuse(request, status, "invalid", why)
    end
    if not is_first(self, one, request) then
      return
    end
    request.body = body
  end
  if named.id then
    local dir, why = self.runs:dir(named.id)
    if not dir then
      return self:refuse(request, 404, "missing", why)
    end
    request.run, request.dir = named.id, dir
    request.event, request.question, request.token = named.event, named.question, named.token
  end
  if one.streams then
    return follow(self, request)
  end
  local status, value, more = one.perform(self, request)
  if status then
    self:reply(request, status, value, more)
  else
    table.insert(self.waiting, { request = request, ask = value, until_ms = core.mono_ms() + WAIT_MS })
  end
end

-- An error becomes a reply: the server outlives a failed request.
local function guarded(self, request, work)
  local ok, raised = pcall(work)
  if not ok then
    self:refuse(request, 500, "internal", type(raised) == "table" and tostring(raised.message) or tostring(raised))
  end
end

---Accepts new requests, and advances those under way.
function Server:advance()
  self.http:turn()
  local request = self.http:take()
  while request do
    local this = request
    guarded(self, this, function()
      if may_ask(self, this) then
        perform(self, this)
      end
    end)
    request = self.http:take()
  end
  local now, left = core.mono_ms(), {}
  for _, one in ipairs(self.waiting) do
    guarded(self, one.request, function()
      local status, value, more = one.ask(now >= one.until_ms)
      if status then
        self:reply(one.request, status, value, more)
      else
        left[#left + 1] = one
      end
    end)
  end
  self.waiting = left
  self.events:advance(now)
  self.mcp:advance()
  if self.deliveries then
    self.deliveries:advance(now)
  end
end

---The ms until there is work.
---@return integer
function Server:patience()
  return math.min(self.http:patience(), self.events:patience(), self.waiting[1] and GLANCE_MS or 60000,
    self.deliveries and self.deliveries:patience(core.mono_ms()) or 60000, self.mcp:patience())
end

return M
