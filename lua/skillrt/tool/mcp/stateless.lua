-- tool/mcp/stateless.lua: servers of the protocol of 2026-07-28, which has no handshake and no session: each request
-- states its version, and a server's question comes as a result and is answered by sending the request again.
-- Such a server is recognized by its refusal of the handshake, and by server/discover; client.lua knows of it. How
-- long a list may be cached counts in this process only; a resume uses what was recorded.

local base64 = require("skillrt.base.base64")
local privileges = require("skillrt.base.privileges")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

M.VERSION = "2026-07-28"

---The message about a server that refuses the handshake because it has none.
M.REFUSED = "speaks no protocol with a handshake"

-- The error codes of that: no such method, no such version.
local VERSIONS <const> = -32022
local CODES <const> = { [-32601] = true, [VERSIONS] = true }
local HEADERS <const> = -32020 -- headers and body differ
local UNKNOWN <const> = -32602 -- no such tool, or not with these arguments

local META <const> = "io.modelcontextprotocol/"
local MAX_ROUNDS <const>, MAX_KEPT <const>, MAX_TEXT <const>, LONGEST <const> = 100, 32, 1 << 20, 86400

-- The part of a request that names its subject, for the header Mcp-Name.
local NAMED <const> = { ["tools/call"] = "name", ["prompts/get"] = "name", ["resources/read"] = "uri" }

-- Results that may be cached as long as they say.
local LISTS <const> = { ["tools/list"] = true, ["prompts/list"] = true, ["resources/list"] = true,
  ["resources/templates/list"] = true, ["resources/read"] = true }

---Whether an answer to the handshake is that of a server without one.
---@param answer any  a message
---@return boolean
function M.refuses(answer)
  local problem = type(answer) == "table" and answer.error
  return type(problem) == "table" and CODES[problem.code] or false
end

---Whether a request was refused because it stated no version: the refusal also tells this to a resume, which has not
---seen the handshake.
---@param answer table|nil
---@return boolean
function M.wanted(answer)
  local problem = answer and answer.error
  return type(problem) == "table" and problem.code == VERSIONS
end

local function encode(value)
  return assert(json.encode(value, { sorted = true }))
end

local function copied(given)
  local all = tables.fill({}, given)
  return all
end

---A text in a form allowed in a header line.
---@param text string
---@return string
function M.header(text)
  local plain = text:find("^[\33-\126]") and text:find("[\33-\126]$") and not text:find("[^\32-\126]")
  return plain and not text:find("^=%?base64%?.*%?=$") and text or ("=?base64?%s?="):format(base64.encode(text))
end

local SAID <const> = { string = true, boolean = true, number = true }

-- Arguments that a tool's schema wants in headers, too (`x-mcp-header`), at any depth of properties.
local function add_arguments(out, schema, value, depth)
  if type(schema) ~= "table" or type(schema.properties) ~= "table" or type(value) ~= "table" or depth > 8 then
    return
  end
  for name, one in pairs(schema.properties) do
    local header, given = type(one) == "table" and one["x-mcp-header"], value[name]
    if type(header) == "string" and header:find("^[%w!#$%%&'*+.^_`|~-]+$") and SAID[type(given)] then
      local whole = math.type(given) == "float" and math.tointeger(given)
      out["Mcp-Param-" .. header] = M.header(tostring(whole or given))
    end
    add_arguments(out, one, given, depth + 1)
  end
end

local function headers_of(method, params, options)
  local out = { ["MCP-Protocol-Version"] = M.VERSION, ["Mcp-Method"] = method }
  local name = NAMED[method] and params[NAMED[method]]
  out["Mcp-Name"] = type(name) == "string" and M.header(name) or nil
  add_arguments(out, options and options.input, params.arguments, 1)
  return out
end

-- The arguments of a tool, as its server lists it.
local function input_of(client, name)
  for _, one in ipairs(client:tools() or {}) do
    if one.name == name then
      return one.inputSchema
    end
  end
end

-- One request: the result in its answer, or nil, message and class.
local function asked(client, method, params, options)
  local all = copied(params)
  all._meta = copied(all._meta)
  all._meta[META .. "protocolVersion"] = M.VERSION
  all._meta[META .. "clientCapabilities"] = require("skillrt.tool.mcp.answers").capabilities(client.server)
  all._meta[META .. "clientInfo"] = { name = "skillrt", version = client.version }
  local call = copied(options)
  call.method, call.params, call.known, call.stateless = method, all, {}, true
  call.id = ("%d-%s"):format(client.ctx.step, privileges.of(client.ctx).place())
  all._meta.progressToken = call.progress and call.id or nil
  call.headers = headers_of(method, all, options)
  local answer, message, class = client:send(call)
  if not answer then
    return nil, message, class
  end
  local problem = type(answer.error) == "table" and answer.error.code
  if problem == HEADERS and method == "tools/call" and not call.input then
    call = copied(options) -- refused, and not performed: its schema wants arguments in headers
    call.input = input_of(client, params.name) or {}
    return asked(client, method, params, call)
  end
  if problem == UNKNOWN and method == "tools/call" then
    client.live.changed = client.live.changed + 1 -- the listed tools may be outdated
  end
  return client:result_of(answer)
end

-- Asks the server about itself, once in a process: returns what is wrong with it, or nothing.
local function discover(client)
  local result, message, class = asked(client, "server/discover", {}, { idempotent = true, acts = false })
  if not result then
    return nil, message, class
  end
  local shown = {}
  for _, version in ipairs(tables.object(result.supportedVersions)) do
    if version == M.VERSION then
      return ""
    end
    shown[#shown + 1] = names.said(tostring(version))
  end
  return ("uses the protocol version %s, which is not supported; supported are %s and older"):format(
    table.concat(shown, ", ", 1, math.min(#shown, 10)), M.VERSION)
end

-- A cached list, as JSON; "": none is still valid.
local function kept(live, key)
  local one = live.kept and live.kept[key]
  return one and one.changed == live.changed and os.time() < one.till and one.text or ""
end

---How often a server's tools are known to have changed: no server reports it by itself, but an outdated list must be
---requested again.
---@param live skillrt.McpLive
---@return integer
function M.changed(live)
  local one = live.kept and live.kept[encode({ "tools/list", {} })]
  if one and one.changed == live.changed and os.time() >= one.till then
    live.changed = live.changed + 1
  end
  return live.changed
end

local function keep(live, key, result)
  local ms = math.tointeger(result.ttlMs) or 0
  local text = ms >= 1000 and encode(result)
  if text and #text <= MAX_TEXT then
    local all, count = live.kept or {}, 0
    for _ in pairs(all) do
      count = count + 1
    end
    live.kept = count < MAX_KEPT and all or {}
    live.kept[key] = { text = text, till = os.time() + math.min(ms // 1000, LONGEST), changed = live.changed }
  end
end

-- The answers to the server's questions, by the names that it gave.
local function inputs(client, requests)
  local out = {}
  for _, name in ipairs(names.sorted(tables.object(requests))) do
    local one = requests[name]
    local perform = type(one) == "table" and require("skillrt.tool.mcp.answers").of(client.server, one.method)
    if not perform then
      return nil, ("asks for %s, which is not answered here"):format(names.show(type(one) == "table" and one.method))
    end
    local value, problem = perform(client, one.params)
    if value == nil then
      return nil, ("asks for %s: %s"):format(one.method, tostring(problem and problem.message))
    end
    out[name] = value
  end
  return out
end

---Sends a request to a server, as client.lua does: returns its result; or nil and why not.
---@param client skillrt.McpClient
---@param method string
---@param params table?
---@param options table?
---@return table|nil result
---@return string? message
---@return string? class
function M.request(client, method, params, options)
  local ctx, live = client.ctx, client.live
  local problem = privileges.of(ctx).drawn(function() return live.found or "?" end)
  if problem == "?" then
    local message, class
    problem, message, class = discover(client)
    if not problem then
      return nil, message, class
    end
    live.found = problem
  end
  if problem ~= "" then
    return nil, client:said("%s", problem), "permanent"
  end
  params = params or {}
  local key = LISTS[method] and encode({ method, params })
  local text = key and privileges.of(ctx).drawn(function() return kept(live, key) end) or ""
  if text ~= "" then
    return json.decode(text)
  end
  for round = 1, MAX_ROUNDS do
    local result, message, class = asked(client, method, params, options)
    if not result then
      return nil, message, class
    elseif result.resultType == nil or result.resultType == "complete" then
      keep(live, key or method, key and round == 1 and result or {}) -- a result that an answer decided is not cached
      return result
    elseif result.resultType ~= "input_required" then
      return nil, client:said("gives a result of the kind %s, which is not known here", names.show(result.resultType)),
        "permanent"
    end
    local given, why = inputs(client, result.inputRequests)
    if not given then
      return nil, client:said("%s", why), "permanent"
    end
    params = copied(params)
    params.inputResponses, params.requestState = next(given) and given or nil, result.requestState
  end
  return nil, client:said("keeps asking without an end"), "permanent"
end

return M
