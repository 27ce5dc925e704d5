-- cli/mcp/server.lua: the Model Context Protocol as a server speaks it: versions, methods, requests and their results
-- (revisions 2024-11-05 to 2025-11-25, and 2026-07-28, which has no session).
--
-- Takes lines and gives lines; waits for nothing itself. Called by cli/command/mcp.lua.

local core = require("skillrt.core")
local elicitation = require("skillrt.cli.mcp.elicitation")
local json = require("skillrt.base.json")
local judge = require("skillrt.base.json_schema").judge
local tools = require("skillrt.cli.mcp.tools")
local waiting = require("skillrt.cli.mcp.waiting")

local M = {}

-- ---- JSON-RPC 2.0 as lines ----

M.LONGEST = 4 << 20 -- bytes of a line that is read

-- Of JSON-RPC, and of MCP.
local PARSE <const>, INVALID <const>, NO_METHOD <const> = -32700, -32600, -32601
local PARAMS <const>, INTERNAL <const> = -32602, -32603
local VERSION <const> = -32022

local function is_id(value)
  return type(value) == "string" and #value <= 1000 or math.type(value) == "integer"
end

---What a value of JSON is as a message: "request", "notification", "response"; nil and what is wrong with it.
---@param value any
---@return string|nil kind
---@return string? problem
---@return string|integer|nil id  of a request that is none, where it says it
local function kind_of(value)
  if not json.is_object(value) then
    return nil, "a message is an object"
  end
  local id = is_id(value.id) and value.id or nil
  if value.jsonrpc ~= "2.0" then
    return nil, 'jsonrpc must be "2.0"', id
  elseif value.method == nil and id ~= nil and (value.result ~= nil or value.error ~= nil) then
    return "response"
  elseif type(value.method) ~= "string" then
    return nil, "method must be a text", id
  elseif value.params ~= nil and not json.is_object(value.params) then
    return nil, "params must be an object", id
  elseif value.id ~= nil and id == nil then
    return nil, "id must be a text or a whole number"
  end
  return id ~= nil and "request" or "notification", nil, id
end

---The messages of a line: one, or where the version has batches several.
---@param text string
---@param batches boolean
---@return table[]|nil messages
---@return string? problem
---@return integer? code
local function read(text, batches)
  local value, why = json.decode(text)
  if value == nil then
    return nil, "not JSON: " .. tostring(why), PARSE
  elseif not batches or not json.is_array(value) then
    return { value }
  elseif #value == 0 or #value > 100 then
    return nil, "a batch has from 1 to 100 messages", INVALID
  end
  return value
end

local STATELESS <const> = "2026-07-28"
local NEWEST <const> = "2025-11-25" -- of those with a session
local VERSIONS <const> = { STATELESS, NEWEST, "2025-06-18", "2025-03-26", "2024-11-05" }
local OF_META <const> = "io.modelcontextprotocol/"
local MOST_WAITING <const> = 64
local INSTRUCTIONS <const> = "Runs skills as durable runs. list says which there are, run starts one and gives its "
  .. "name; status, answer, resume, stop, log and explain take that name. A run goes on when nobody waits for it, and "
  .. "survives this client: resume goes on with what paused."

---@class skillrt.tool.mcp.Server
---@field runs skillrt.tool.mcp.Runs
---@field skills table        of catalog.find
---@field paths string[]
---@field agent string[]      --agent and its words
---@field version string|nil  of the session; nil: none was begun
---@field elicits boolean     the client of the session takes questions
---@field waiting table<string|integer, table>  requests under way, by their ids
---@field count integer
---@field open boolean        somebody reads
local Server = {}
Server.__index = Server

---@return skillrt.tool.mcp.Server
function M.new(options)
  return setmetatable({ runs = options.runs, skills = options.skills, paths = options.paths, agent = options.agent,
    waiting = {}, count = 0, open = true, elicits = false, sent = {}, last = 0 }, Server)
end

---@param name string
---@return table|nil
function Server:skill(name)
  local one = self.skills[name]
  return type(one) == "table" and one.path and one or nil
end

---The runs that lie here, the newest first.
function Server:all_runs()
  local list = require("skillrt.report.runs").of(self.runs.folder) or {}
  local told = json.array({})
  for i = 1, math.min(#list, 100) do
    local one = list[i]
    local status = one.status or {}
    told[i] = { run = one.dir:match("[^/]+$"), skill = status.skill, problem = one.problem,
      status = status.held_by and "running" or status.interrupted and "interrupted" or status.status,
      reason = status.reason, questions = status.questions and #status.questions or nil,
      updated_at = status.updated_at }
  end
  return { runs = told, more = #list > 100 and #list - 100 or nil }
end

-- ---- what is said ----

function Server:say(message)
  message.jsonrpc = "2.0"
  local text, why = json.encode(message)
  if not text then
    text = assert(json.encode({ jsonrpc = "2.0", id = message.id, error = { code = INTERNAL, message = why } }))
  end
  self.open = core.terminal.write(1, text .. "\n") == true and self.open
end

function Server:refuse(id, code, message, data)
  self:say({ id = id == nil and json.null or id, error = { code = code, message = message, data = data } })
end

-- A result, as the version of its request has it.
function Server:reply(request, value)
  if request.stateless then
    value.resultType = value.resultType or "complete"
  elseif request.version and request.version < "2025-06-18" then
    value.structuredContent = nil
  end
  self:say({ id = request.id, result = value })
end

-- A request is over.
function Server:finish(request, value)
  if self.waiting[request.id] == request then
    self.waiting[request.id], self.count = nil, self.count - 1
    if request.asking then
      self.sent[request.asking] = nil
    end
  end
  if value then
    self:reply(request, value)
  end
end

-- ---- methods ----

local function capabilities()
  return { tools = json.decode("{}") }
end

local function about()
  return { name = "skillrt", title = "skillrt", version = core.version }
end

local METHODS = {}

function METHODS.initialize(self, request)
  local params = request.params
  if type(params.protocolVersion) ~= "string" then
    return nil, PARAMS, "protocolVersion must be a text"
  end
  self.version = NEWEST
  for _, version in ipairs(VERSIONS) do
    if version == params.protocolVersion and version ~= STATELESS then
      self.version = version
    end
  end
  self.elicits = M.takes_questions(params.capabilities)
  return { protocolVersion = self.version, capabilities = capabilities(), serverInfo = about(),
    instructions = INSTRUCTIONS }
end

METHODS["server/discover"] = function(_, request)
  if not request.stateless then
    return nil, PARAMS, ("params._meta must have %sprotocolVersion"):format(OF_META)
  end
  return { supportedVersions = json.array({ table.unpack(VERSIONS) }), capabilities = capabilities(),
    instructions = INSTRUCTIONS, ttlMs = 3600000, cacheScope = "private",
    _meta = { [OF_META .. "serverInfo"] = about() } }
end

function METHODS.ping()
  return json.decode("{}")
end

METHODS["tools/list"] = function(_, request)
  if request.params.cursor ~= nil then
    return nil, PARAMS, "there is one page of tools, and no cursor"
  end
  local value = { tools = tools.shown() }
  if request.stateless then
    value.ttlMs, value.cacheScope = 3600000, "public"
  end
  return value
end

-- A client's answer to what a result asked for (2026-07-28): the run and the question stand in the state that it sends
-- back.
local function answered(self, request)
  local state = json.decode(tostring(request.params.requestState))
  local reply = type(request.params.inputResponses) == "table" and request.params.inputResponses.answer
  local dir, why = self.runs:dir(type(state) == "table" and state.run)
  if not dir then
    return tools.refused(why)
  end
  local value = elicitation.given(reply)
  if value == nil then
    return tools.standing(self, state.run, dir)
  end
  return tools.of.answer.perform(self, { run = state.run, value = value, question = state.question,
    approval = state.approval, wait = tonumber((request.params.arguments or {}).wait) })
end

METHODS["tools/call"] = function(self, request)
  local params = request.params
  local tool = type(params.name) == "string" and tools.of[params.name]
  if not tool then
    return nil, PARAMS, ("there is no tool %s"):format(require("skillrt.base.names").show(params.name))
  end
  local given = params.arguments == nil and {} or params.arguments
  local fits, why = judge(tool.inputSchema, given, "the arguments")
  if not fits then
    return tools.refused(why)
  end
  local value, wait
  if request.stateless and params.requestState ~= nil then
    value, wait = answered(self, request)
  else
    value, wait = tool.perform(self, given)
  end
  if value then
    return value
  end
  request.wait, request.until_ns = wait, core.mono_ns() + math.floor(wait.seconds * 1e9)
  request.stops = tool.name == "run" or tool.name == "answer" or tool.name == "resume"
  self.waiting[request.id], self.count = request, self.count + 1
  return nil
end

---Whether a client's capabilities say that it asks its person by a form.
function M.takes_questions(given)
  local one = type(given) == "table" and given.elicitation
  return type(one) == "table" and (one.form ~= nil or one.url == nil)
end

-- The version of a request: its own (2026-07-28), or the session's. False: it was refused.
local function take_version(self, request)
  local meta = request.params._meta
  local version = type(meta) == "table" and meta[OF_META .. "protocolVersion"]
  request.token = type(meta) == "table" and meta.progressToken or nil
  if not version then
    request.version, request.elicits = self.version, self.elicits
    if self.version or request.method == "initialize" or request.method == "ping"
      or request.method == "server/discover" then
      return true
    end
    self:refuse(request.id, INVALID, "initialize comes first; or say the version in params._meta")
  elseif version ~= STATELESS then
    self:refuse(request.id, VERSION, ("version %s is not spoken here"):format(tostring(version)),
      { supported = json.array({ table.unpack(VERSIONS) }), requested = tostring(version) })
  elseif type(meta[OF_META .. "clientCapabilities"]) ~= "table" then
    self:refuse(request.id, PARAMS, ("params._meta must have %sclientCapabilities"):format(OF_META))
  else
    request.version, request.stateless = version, true
    request.elicits = M.takes_questions(meta[OF_META .. "clientCapabilities"])
    return true
  end
  return false
end

local function take_request(self, message)
  local request = { id = message.id, method = message.method, params = message.params or {} }
  if self.waiting[request.id] then
    self:refuse(request.id, INVALID, "a request with this id is under way")
    return
  elseif not take_version(self, request) then
    return
  end
  local method = METHODS[request.method]
  if not method or request.stateless and (request.method == "initialize" or request.method == "ping") then
    self:refuse(request.id, NO_METHOD, ("there is no method %s"):format(request.method:sub(1, 100)))
  elseif self.count >= (request.params.name == "stop" and 2 or 1) * MOST_WAITING and request.method == "tools/call" then
    self:refuse(request.id, INTERNAL, ("%d requests are under way, and no more may be"):format(self.count))
  else
    local value, code, why = method(self, request)
    if value then
      self:reply(request, value)
    elseif code then
      self:refuse(request.id, code, why)
    end
  end
end

local function take_notification(self, message)
  local params = message.params or {}
  local request = message.method == "notifications/cancelled" and self.waiting[params.requestId]
  if request then
    waiting.cancel(self, request)
  end
end

---A line of the client's.
---@param text string|nil  nil: it was too long
function Server:take(text)
  if not text then
    return self:refuse(nil, INVALID, ("a line is longer than %d bytes, and was left out"):format(M.LONGEST))
  elseif not text:find("%S") then
    return
  end
  local messages, problem, code = read(text, self.version == "2025-03-26")
  if not messages then
    return self:refuse(nil, code, problem)
  end
  for _, message in ipairs(messages) do
    local kind, why, id = kind_of(message)
    if kind == "request" then
      take_request(self, message)
    elseif kind == "notification" then
      take_notification(self, message)
    elseif kind == "response" then
      waiting.responded(self, message)
    else
      self:refuse(id, INVALID, why)
    end
  end
end

return M
