-- cli/mcp/server.lua: the Model Context Protocol, as a server: versions, methods, requests and results (revisions
-- 2024-11-05 to 2025-11-25, and 2026-07-28, which has no session).
--
-- Takes lines and returns lines; never waits. Called by cli/command/mcp.lua.

local codes = require("skillrt.cli.exit_codes")
local core = require("skillrt.core")
local cut = require("skillrt.base.text").cut
local elicitation = require("skillrt.cli.mcp.elicitation")
local json = require("skillrt.base.json")
local judge = require("skillrt.base.json_schema").judge
local runs_of = require("skillrt.cli.serving.runs")
local store = require("skillrt.run.store")
local tools = require("skillrt.cli.mcp.tools")

local M = {}

-- ---- JSON-RPC 2.0 as lines ----

M.LONGEST = 4 << 20 -- maximal bytes of a line

-- Error codes of JSON-RPC and MCP.
local PARSE <const>, INVALID <const>, NO_METHOD <const> = -32700, -32600, -32601
local PARAMS <const>, INTERNAL <const> = -32602, -32603
local VERSION <const> = -32022

local function is_id(value)
  return type(value) == "string" and #value <= 1000 or math.type(value) == "integer"
end

---The kind of a JSON message: "request", "notification", "response"; or nil and what is wrong with it.
---@param value any
---@return string|nil kind
---@return string? problem
---@return string|integer|nil id  the id of an invalid request, if it has one
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

---The messages of a line: one, or several where the version has batches.
---@param text string
---@param batches boolean
---@return table[]|nil messages
---@return string? problem
---@return integer? code
local function read(text, batches)
  local value, why = json.decode(text)
  if value == nil then
    return nil, tostring(why), PARSE
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
local LONGEST_WAIT <const> = 86400 -- seconds until the result of a task is its current status
local INSTRUCTIONS <const> = "Runs skills durably. list shows the skills, run starts one and gives its "
  .. "name; status, answer, resume, stop, log and explain take that name. A run continues without a client, and "
  .. "survives this one: resume resumes what paused."

---@class skillrt.tool.mcp.Server
---@field runs skillrt.cli.serving.Runs
---@field skills table        of catalog.find
---@field paths string[]
---@field version string|nil  of the session; nil: there is none
---@field elicits boolean     the client of the session accepts questions
---@field waiting table<string|integer, table>  requests under way, by id
---@field count integer
---@field open boolean        somebody reads
local Server = {}
Server.__index = Server

-- Writes a message as a line of standard output.
local function write_line(text)
  return core.terminal.write(1, text .. "\n") == true
end

---@param options table  `write`: nil|fun(text, message, id): boolean, the message as JSON, and the id of the request
---  that it belongs to
---@return skillrt.tool.mcp.Server
function M.new(options)
  return setmetatable({ runs = options.runs, skills = options.skills, paths = options.paths, waiting = {}, count = 0,
    open = true, elicits = false, sent = {}, last = 0, write = options.write or write_line }, Server)
end

---@param name string
---@return table|nil
function Server:skill(name)
  local one = self.skills[name]
  return type(one) == "table" and one.path and one or nil
end

-- ---- what is said ----

function Server:say(message, id)
  message.jsonrpc = "2.0"
  local text, why = json.encode(message)
  if not text then
    message = { jsonrpc = "2.0", id = message.id, error = { code = INTERNAL, message = why } }
    text = assert(json.encode(message))
  end
  self.open = self.write(text, message, id) and self.open
end

function Server:refuse(id, code, message, data)
  self:say({ id = id == nil and json.null or id, error = { code = code, message = message, data = data } }, id)
end

-- A result, in the form of the request's protocol version.
function Server:reply(request, value)
  if request.stateless then
    value.resultType = value.resultType or "complete"
  elseif request.version and request.version < "2025-06-18" then
    value.structuredContent = nil
  end
  self:say({ id = request.id, result = value }, request.id)
end

-- Answers a request.
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

-- ---- requests under way: each waits for a run, or for a short program ----

local MOST_TOLD <const> = 20 -- lines in one notification

-- Exit codes that mean that nothing was done; the output says why.
local REFUSED <const> = { [codes.usage] = true, [codes.busy] = true, [codes.damaged] = true, [codes.changed] = true,
  [codes.internal] = true }

---The client cancelled a request: the run that it drives stops and can be resumed.
---@param request table
function Server:cancel(request)
  self:finish(request)
  local follow, program = request.wait.follow, request.wait.program
  if follow and request.stops then
    if follow.program then
      follow.program.handle:stop() -- it may not hold the run yet
    else
      self.runs:stop(follow.dir)
    end
  elseif program then
    program.handle:stop(true)
  end
end

-- The metadata that connects a message to a task.
local function related(id)
  return { [OF_META .. "related-task"] = { taskId = id } }
end

-- The result of a request that waits for a run: the run as a task, or its status.
local function outcome(self, request, follow)
  if request.makes_task then
    return { task = tools.task(self, follow.id, follow.dir) }
  end
  local value = tools.standing(self, follow.id, follow.dir)
  value._meta = request.task_id and related(request.task_id) or nil
  return value
end

-- The run of a request has a question: asks the person through the client, if it supports that. True: it was asked.
local function ask(self, request, id, dir)
  local books = request.elicits and require("skillrt.run.look").books(dir)
  local one = books and require("skillrt.run.books.questions").list(books)[1]
  if not one then
    return false
  end
  local params = elicitation.elicitation(one, id)
  if request.stateless then
    local state = { run = id, question = one.q, approval = one.question.approval }
    self:finish(request, { resultType = "input_required", requestState = assert(json.encode(state)),
      inputRequests = { answer = { method = "elicitation/create", params = params } } })
    return true
  end
  if request.version < "2025-11-25" then
    params.mode = nil
  end
  self.last = self.last + 1
  request.asking, request.question = "skillrt-" .. self.last, one
  self.sent[request.asking] = request
  params._meta = request.task_id and related(request.task_id) or nil
  self:say({ id = request.asking, method = "elicitation/create", params = params }, request.id)
  return true
end

---The person's answer.
---@param message table
function Server:responded(message)
  local request = self.sent[message.id]
  if not request then
    return
  end
  self.sent[message.id], request.asking = nil, nil
  local follow, value, one = request.wait.follow, elicitation.given(message.result), request.question
  if value == nil then
    return self:finish(request, outcome(self, request, follow))
  end
  local program
  local ok, why = elicitation.answer(follow.dir, one.q, value, one.question.approval)
  if ok then
    program, why = self.runs:go_on(follow.dir)
  end
  if why then
    return self:finish(request, tools.refused(why))
  end
  request.wait.follow = runs_of.follow(follow.id, follow.dir, program)
  request.until_ns = core.mono_ns() + math.floor(request.wait.seconds * 1e9)
end

-- Reports the run's lines, if the client gave a token.
local function progress(self, request, lines)
  local from = math.max(1, #lines - MOST_TOLD + 1)
  for i = from, #lines do
    request.told = (request.told or 0) + 1
    self:say({ method = "notifications/progress", params = { progressToken = request.token, progress = request.told,
      message = lines[i] } }, request.id)
  end
end

-- Continues a request that waits for a run.
local function advance_run(self, request, late, ending)
  local follow = request.wait.follow
  local lines = {}
  local over = follow:advance(function(line)
    lines[#lines + 1] = request.token ~= nil and line or nil
  end)
  progress(self, request, lines)
  if over and not follow.program and request.stops and not request.again and store.at(follow.dir):waiting() > 0 then
    request.again = true -- the process that held it ended before it read its inbox
    follow.program = self.runs:go_on(follow.dir)
    over = not follow.program
  end
  local begun = not follow.program or (over or late) and follow:begun()
  if not over and not (late and (begun or ending)) then
    return -- wait at least until the run exists
  elseif not begun and not over then
    self:finish(request, tools.refused("it has not begun yet; status lists the runs"))
  elseif not begun or over and follow.program and REFUSED[follow.program.code] then
    local said = runs_of.said(follow.program)
    self:finish(request, tools.refused(said ~= "" and said or "its process ended before the run started"))
  elseif not over or request.makes_task or not ask(self, request, follow.id, follow.dir) then
    self:finish(request, outcome(self, request, follow))
  end
end

local function advance_program(self, request, late)
  local program = request.wait.program
  program.code = program.code or program.handle:code()
  if program.code then
    self:finish(request, request.wait.finish(program.code, runs_of.said(program)))
  elseif late then
    program.handle:stop(true)
    self:finish(request, tools.refused("it did not answer in time"))
  end
end

---Continues all requests under way.
---@param ending boolean?  the client has gone: requests that wait for a run get its status now
function Server:advance(ending)
  local now = core.mono_ns()
  local list = {}
  for _, request in pairs(self.waiting) do
    list[#list + 1] = request
  end
  for _, request in ipairs(list) do
    local late = now >= request.until_ns
    if request.asking then
      if ending then
        self:finish(request, outcome(self, request, request.wait.follow))
      end
    elseif request.wait.follow then
      advance_run(self, request, late or ending, ending)
    else
      advance_program(self, request, late)
    end
  end
end

---The ms until there is work.
---@return integer
function Server:patience()
  local now, least = core.mono_ns(), 60000
  for _, request in pairs(self.waiting) do
    if not request.asking then
      local left = math.max(0, (request.until_ns - now) // 1000000 + 1)
      least = math.min(least, left, request.wait.follow and 1000 or 60000) -- whether a process still holds it
    end
  end
  return least
end

-- ---- methods ----

local function capabilities(version)
  local none = json.decode("{}")
  return { tools = none, tasks = version == NEWEST and { list = none, cancel = none,
    requests = { tools = { call = none } } } or nil }
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
  return { protocolVersion = self.version, capabilities = capabilities(self.version), serverInfo = about(),
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
    return nil, PARAMS, "all tools are on one page; leave out cursor"
  end
  local value = { tools = tools.shown() }
  if request.stateless then
    value.ttlMs, value.cacheScope = 3600000, "public"
  end
  return value
end

-- A client's answer to a question in a result (2026-07-28): the run and the question are in the state that the client
-- sends back.
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
  local fits, why = judge(tool.inputSchema, given, "the input")
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
  request.makes_task = request.version == NEWEST and tool.taskSupport and params.task ~= nil
  request.until_ns = request.makes_task and core.mono_ns() or request.until_ns
  self.waiting[request.id], self.count = request, self.count + 1
  return nil
end

-- ---- tasks (2025-11-25): every run is one, whoever started it ----

-- The directory of the task that a request names.
local function task_of(self, request)
  local dir, why = self.runs:dir(request.params.taskId)
  if not dir then
    return nil, PARAMS, why
  end
  return dir
end

METHODS["tasks/get"] = function(self, request)
  local dir, code, why = task_of(self, request)
  if not dir then
    return nil, code, why
  end
  return tools.task(self, request.params.taskId, dir)
end

METHODS["tasks/list"] = function(self)
  local list, found, why = json.array({}), self.runs:list(nil, 100)
  if not found then
    return nil, INTERNAL, why
  end
  for i, one in ipairs(found.runs) do
    list[i] = tools.task(self, one.run, self.runs:dir(one.run))
  end
  return { tasks = list }
end

METHODS["tasks/cancel"] = function(self, request)
  local dir, code, why = task_of(self, request)
  local ok = dir
  if dir then
    code, ok, why = PARAMS, self.runs:stop(dir)
  end
  if not ok then
    return nil, code, why
  end
  local task = tools.task(self, request.params.taskId, dir)
  task.status = "cancelled" -- its process ends
  return task
end

METHODS["tasks/result"] = function(self, request)
  local dir, code, why = task_of(self, request)
  if not dir then
    return nil, code, why
  end
  local id = request.params.taskId
  request.task_id = id
  request.wait = { follow = runs_of.follow(id, dir, self.runs:program_of(dir)), seconds = LONGEST_WAIT }
  request.until_ns = core.mono_ns() + LONGEST_WAIT * 1000000000
  self.waiting[request.id], self.count = request, self.count + 1
end

---Whether the client can show the person a form.
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
    self:refuse(request.id, VERSION, ("protocol version %s is not supported"):format(tostring(version)),
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
    self:refuse(request.id, NO_METHOD, ("there is no method %s"):format(cut(request.method, 100)))
  elseif self.count >= (request.params.name == "stop" and 2 or 1) * MOST_WAITING and request.method == "tools/call" then
    self:refuse(request.id, INTERNAL, ("%d requests are under way, which is the maximum"):format(self.count))
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
    self:cancel(request)
  end
end

---A line from the client.
---@param text string|nil  nil: it was too long
function Server:take(text)
  if not text then
    return self:refuse(nil, INVALID, ("a line is longer than %d bytes, and was ignored"):format(M.LONGEST))
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
      self:responded(message)
    else
      self:refuse(id, INVALID, why)
    end
  end
end

return M
