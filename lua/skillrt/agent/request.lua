-- agent/request.lua: checks a request that a script passes to ctx.await.
--
-- A wrong request raises an error where the script called, so that none reaches the engine. Knows the fields of the
-- core's tasks; no agents and no runs.

local expect = require("skillrt.agent.expect")
local instant = require("skillrt.base.instant")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local question_of = require("skillrt.skill.question")
require("skillrt.skill.sandbox") -- a type of fields
local schema = require("skillrt.skill.schema")
local secrets = require("skillrt.base.secrets")
local tables = require("skillrt.base.tables")
local usage = require("skillrt.agent.usage")
local url_of = require("skillrt.agent.url")

local M = {}

---How a call is retried; the skill decides about what is left out.
M.RETRY = {
  max = { type = "count" },
  base = { type = "amount" },
  factor = { type = "amount" },
  cap = { type = "amount" },
  jitter = { type = "boolean" },
  waits = { type = "boolean" }, -- false: not for longer than a minute, as another agent can be asked
}

-- The fields that every request may have.
local COMMON = {
  kind = { type = "text", required = true },
  timeout = { type = "seconds" },
  idle_timeout = { type = "seconds" },
  idempotent = { type = "boolean" },
  key = { type = "text" },
  expect = { default = "raw" },
  judge = { type = "function" },
  retry = { type = "table" },
  acts = { type = "boolean" },
  shown = { type = "text" },
  label = { type = "text" },
  phase = { type = "text" },
  pure = { type = "boolean" }, -- follows from what was recorded alone: may be computed again at any time
  declared = { type = "table" },
  usage = { type = "table" },
  gate = { type = "table" }, -- of the agent that it asks (agent/gate.lua)
  model = { type = "text" }, -- of the agent that it asks
  converses = { type = "boolean" }, -- the agent can be told more after its reply
  prompt = { type = "string" }, -- its text, which the run keeps for people
  show = { type = "function" }, -- what people who watch see of the data that arrives
  take = { type = "function" }, -- takes login tokens out of a reply before it is recorded
  secrets = { type = "text", list = true }, -- texts that must not reach the journal from a reply
  theirs = { type = "boolean" }, -- of the agent that a person chose: what is granted to a skill does not confine it
}

-- Of a request that starts a program.
local PROGRAM <const> = {
  env = { type = { "string", "boolean" }, map = true },
  sandbox = { type = "sandbox" }, -- the network it may reach; nil: as its skill says
  sandbox_default = { type = "sandbox" }, -- ... and where that says nothing
  needs = { type = "table" }, -- what it needs in a sandbox: skillrt.Needs
  around = { type = "text", list = true }, -- names of more environment variables to pass on
  cwd = { type = "text" },
}

local function with(more)
  return tables.fill(tables.fill({}, COMMON), more)
end

M.FIELDS = {
  http = with({
    url = { type = "text", required = true },
    method = { type = "text", default = "GET" },
    headers = { type = "string", map = true, default = {} },
    body = { type = "string" },
    ca_file = { type = "text" },
    addresses = { type = "text" }, -- "public" and further networks: what it may connect to
    id = {}, -- a stream of events ends with the message that answers this
    joins = { type = "text", list = true }, -- fields of a stream's events whose texts are joined
    max_reply = { type = "positive" },
    max_redirects = { type = "count", default = 0 },
    connect_timeout = { type = "seconds" },
  }),
  command = with(tables.fill({
    argv = { type = "string", list = true, required = true },
    stdin = { type = "string", default = "" },
    ok_codes = { type = "count", list = true, default = { 0 } },
    noise = { type = "text" }, -- a line of output with this text does not count as a sign of life
    silence = { enum = { "end", "spare", "report", "ask" } }, -- what happens at idle_timeout
    max_output = { type = "positive" },
  }, PROGRAM)),
  session = with(tables.fill({
    session = { type = "text", required = true },
    argv = { type = "string", list = true },
    url = { type = "text" }, -- instead of a program: where messages are posted (streamable HTTP)
    headers = { type = "string", map = true },
    ca_file = { type = "text" },
    message = { type = "string", required = true },
    id = {},
    opening = { type = "string", list = true }, -- the first messages to a program that starts
    withdraw = { type = "string" }, -- the message that cancels it when its answer is no longer wanted
    replies = { type = "string", map = true }, -- by method: the JSON that is replied at once
    questions = { type = "boolean" }, -- a request of its own counts as an answer, too
    opened = { type = "function" }, -- reads the answer to its opening: gives later headers, or nil and why not
    keeps = { type = "text" }, -- url: a header of the opening's reply that is sent along from then on
    follows = { type = "boolean" }, -- depends on earlier messages to this very process: a resume does not repeat it
    heard = { type = "function" }, -- reads what it sends unasked, and gives true; else that is an event
    framed = { type = "boolean" },
    again = { enum = { "stateless", "feed", "lost" }, default = "stateless" }, -- where its program is another one
    max_reply = { type = "positive" },
  }, PROGRAM)),
  host = with({
    name = { type = "text", required = true },
    input = {},
    body = { type = "string" },
    max_reply = { type = "positive" },
    expect = { default = "json" },
  }),
  ["local"] = with({
    name = { type = "text", required = true },
    run = { type = "function", required = true },
  }),
  sleep = with({ seconds = { type = "number" }, until_ = {} }),
  wait = { kind = {}, event = { type = "text", required = true }, timeout = { type = "seconds" } },
}
do
  local ask = { kind = {}, timeout = { type = "seconds" } }
  tables.fill(ask, question_of.FIELDS)
  M.FIELDS.ask = ask
end

---The environment variables that every program gets.
M.AROUND = { "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM" }

-- Shorter values are no secrets: they would be found in many replies.
local LEAST_SECRET <const> = 8

-- The environment of a program, whoever starts it: an agent, a tool, a script, an MCP server. It consists of what
-- every program gets, the request's `around`, and its `env`: a text, true for our own value, false for none. What the
-- request says itself is declared; a variable that is named like a key holds a secret.
local function environment(request)
  local env, declared, keys = {}, {}, request.secrets or {}
  local function pass_on(name)
    local value = os.getenv(name)
    env[name] = value
    if value and #value >= LEAST_SECRET and (name:find("KEY") or name:find("TOKEN")) then
      keys[#keys + 1] = value
    end
  end
  for _, list in ipairs({ M.AROUND, request.around or {}, request.sandbox and request.sandbox.env or {} }) do
    for _, name in ipairs(list) do
      pass_on(name)
    end
  end
  for name, value in pairs(request.env or {}) do
    env[name], declared[name] = value or nil, value or ""
    if value == true then
      pass_on(name)
      declared[name] = ("{env.%s}"):format(name)
    end
  end
  request.env, request.around, request.secrets = env, nil, keys[1] and keys or nil
  return declared
end

-- The declared fields plus one that the author left out; the author's table is unchanged.
local function with_declared(declared, field, value)
  local all = { [field] = value }
  tables.fill(all, declared)
  return all
end

-- Methods that change nothing: such a request may be repeated.
local SAFE = { GET = true, HEAD = true, OPTIONS = true }

local CHECKS = {}

-- Its address, and what is sent along.
local function check_endpoint(request)
  if not url_of.is_url(request.url) then
    return ("url %s does not begin with http:// or https://"):format(names.show(url_of.shown(request.url)))
  end
  for name, value in pairs(request.headers or {}) do
    if not url_of.is_header_name(name) or not url_of.is_header_value(value) then
      return ("header %s cannot be sent"):format(names.show(name))
    end
  end
end

function CHECKS.http(request)
  local problem = check_endpoint(request)
  if problem then
    return problem
  elseif not request.method:find("^%u+$") then
    return ("method %s must be capitals, such as POST"):format(names.show(request.method))
  end
  for name, value in pairs(request.headers) do
    if name:lower() == "idempotency-key" then
      request.key = request.key or value
    end
  end
  if request.method == "GET" and request.body then
    return "a GET request has no body; set method"
  end
  request.shown = request.shown or url_of.shown(request.url)
  request.idempotent = tables.first(request.idempotent, SAFE[request.method])
end

-- A program and its environment.
local function check_program(request)
  if #request.argv == 0 or request.argv[1] == "" then
    return "argv names no program"
  end
  for name in pairs(request.env or {}) do
    if name == "" or name:find("=", 1, true) then
      return ("env %s is not a variable's name"):format(names.show(name))
    end
  end
  request.declared = with_declared(request.declared, "env", environment(request))
  for _, list in ipairs({ request.argv, request.env }) do
    for _, text in pairs(list) do
      if text:find("\0", 1, true) then
        return "argv and env must not hold NUL bytes"
      end
    end
  end
end

function CHECKS.command(request)
  request.shown = request.shown or request.argv[1]
  return check_program(request)
end

function CHECKS.session(request)
  local id = request.id
  request.shown = request.shown or request.session
  local named, problem = names.id(request.session)
  if not named then
    return "session " .. problem
  elseif id ~= nil and type(id) ~= "string" and math.type(id) ~= "integer" then
    return ("id must be a text or a whole number, not %s"):format(names.show(id))
  end
  for _, text in ipairs({ request.message, request.withdraw or "", table.unpack(request.opening or {}) }) do
    if not request.framed and text:find("\n", 1, true) then
      return "message must be one line; or set framed = true"
    end
  end
  if request.again == "feed" and request.message:find("\0", 1, true) then
    return "message must not hold NUL bytes where it may be fed"
  elseif request.again == "lost" then
    request.idempotent = false -- only its program knows whether repeating it is safe
  end
  if (request.argv == nil) == (request.url == nil) then
    return "it needs either argv (a program) or url"
  elseif request.argv then
    return check_program(request)
  elseif id == nil or not (request.opening and request.opening[1]) or request.again == "feed" then
    return 'a session with a url needs id and opening, and again is not "feed"'
  end
  return check_endpoint(request)
end

-- A function of the host: its input and its answer are JSON.
function CHECKS.host(request, functions)
  local problem
  if request.input ~= nil or not request.body then
    request.body, problem = json.encode(request.input == nil and {} or request.input, { sorted = true, name = "input" })
    request.input = nil
  end
  local known = functions and functions[request.name]
  request.shown, request.idempotent = request.shown or request.name, tables.first(request.idempotent, known)
  return problem
end

CHECKS["local"] = function(request)
  request.shown = request.shown or request.name
end

function CHECKS.ask(request)
  local question, message = question_of.check(request)
  if not question then
    return message
  end
  local text, why = json.encode(question, { sorted = true })
  if not text then
    return why
  end
  request.question, request.asked, request.expect = question, text, "raw"
  request.shown, request.idempotent = question.header or "a question", true
end

function CHECKS.wait(request)
  local problem = names.problem_of_event(request.event)
  if problem then
    return problem
  end
  request.shown, request.idempotent, request.expect = "event " .. request.event, true, "raw"
end

function CHECKS.sleep(request)
  if request.until_ ~= nil then
    local at, message = instant.read(request.until_)
    if not at or request.seconds then
      return message or "it has seconds or an instant, not both"
    end
    request.until_, request.instant = at, tostring(at)
  elseif not request.seconds then
    return "it needs seconds, or an instant"
  elseif request.seconds < 0 or request.seconds > 1e9 then
    return ("seconds must be from 0 to 1e9, not %s"):format(names.show(request.seconds))
  end
  request.shown, request.idempotent = request.shown or "sleep", true
end

-- What identifies a call, instead of its full content.
local DECLARED = {
  url = { type = "string" },
  cwd = { type = "string" },
  stdin = { type = "string" },
  body = { type = { "string", "table" } }, -- a skillrt.Chain
  message = { type = "string" },
  argv = { type = "string", list = true },
  headers = { type = "string", map = true },
  env = { type = "string", map = true },
}

local function check_declared(request)
  local message
  if request.declared then
    request.declared, message = schema.record(request.declared, DECLARED, "its declared")
  end
  return message
end

local function check_common(request)
  local ok, message = expect.check(request.expect)
  if ok and request.retry then
    request.retry, message = schema.record(request.retry, M.RETRY, "its retry")
  end
  if ok and not message and request.usage then
    ok, message = usage.check(request.usage)
    message = not ok and "usage " .. message or nil
  end
  if request.gate and not (type(request.gate.at) == "table" and request.gate.wait) then
    message = message or "gate must be a value from skillrt.agent.gate"
  end
  request.idempotent = tables.first(request.idempotent, request.acts == false)
  return message or check_declared(request)
end

---A checked copy of a request, in the form of the core's tasks; with idempotent, shown and expect.
---@param request table
---@param functions table<string, boolean>?  of the host: whether they may be called again
---@return table? checked
---@return string? message
function M.check(request, functions)
  local fields = M.FIELDS[request.kind]
  if not fields then
    local known = 'kind must be "http", "command", "session", "host", "sleep", "ask" or "wait", not %s; '
      .. "or name an agent"
    return nil, known:format(names.show(request.kind))
  end
  local checked, message = schema.record(request, fields, "its request")
  if not checked then
    return nil, message
  end
  message = CHECKS[checked.kind](checked, functions) or check_common(checked)
  if not message and secrets.active and checked.argv and secrets.holds(table.concat(checked.argv, "\0")) then
    message = "its argv holds a secret, which every user of this machine could read; pass it in env or stdin"
  end
  return not message and checked or nil, message
end

-- What of a request an agent fills in.
local FILLED <const> = { "url", "headers", "body", "argv", "env", "stdin", "message" }

---Puts the whole idempotency key into texts that hold its beginning: an agent filled that in (`{key}`) before the
---request was complete.
---@param request table  a checked one
---@param beginning string
---@param key string
function M.complete_key(request, beginning, key)
  local pattern, whole = beginning:gsub("%W", "%%%0"), key:gsub("%%", "%%%%")
  local function completed(text)
    return text:find(beginning, 1, true) and text:gsub(pattern, whole) or text
  end
  for _, name in ipairs(FILLED) do
    local value = request[name]
    if type(value) == "string" then
      request[name] = completed(value)
    elseif value then
      local copy = {}
      for at, text in pairs(value) do
        copy[at] = completed(text)
      end
      request[name] = copy
    end
  end
end

---The key that an HTTP request carries: the author's, or ours.
---@param request table  a checked one, or an agent's
---@param key string
---@return string
function M.keyed(request, key)
  local headers = request.headers
  if request.key then
    key = request.key
  end
  for name, value in pairs(headers) do
    if name:lower() == "idempotency-key" then
      return value
    end
  end
  headers["Idempotency-Key"] = key
  return key
end

return M
