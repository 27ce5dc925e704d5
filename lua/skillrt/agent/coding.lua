-- agent/coding.lua: what the programs of coding agents have in common: the prompt goes to standard input, events come
-- back one a line, and one session does the work and repairs the form of its answer.
--
-- Each program's file (claude.lua, codex.lua, gemini.lua) knows its arguments and the meaning of its events. A coding
-- agent acts: when its outcome is unknown a person is asked, and nothing is repeated by itself. Knows no runs.

local Agent = require("skillrt.agent.kind")
local answer_of = require("skillrt.agent.answer")
local condition = require("skillrt.agent.condition")
local failure_of = require("skillrt.agent.failure")
local files = require("skillrt.base.files")
local gate = require("skillrt.agent.gate")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local sandbox = require("skillrt.skill.sandbox")
local tables = require("skillrt.base.tables")

---@class skillrt.CodingAgent: skillrt.Agent
---@field program string       that of its kind; a definition may name another
---@field ALLOWED string[]     environment variables it gets in addition to those that every program gets
---@field KEYS string[]        one of these variables holds its key; without a key it may still be logged in
---@field NOISE string?        a line of output with this text does not count as a sign of life
---@field ARGS_BEHIND integer? where more arguments go
---@field TAKES_SYSTEM boolean?
---@field NEEDS skillrt.Needs    what it needs in a sandbox; paths below its folder
---@field FOLDER string[]       a variable that names its folder, and the default below the home folder
---@field URLS string[]         variables that may set another server of its provider
---@field has_sandbox fun(agent: table, task: skillrt.Task): boolean  whether its own sandbox is on
---@field argv fun(agent: table, task: skillrt.Task, want: table): string[]
---@field read fun(events: table[], errors: string, code: integer): skillrt.CodingReply
---@field show fun(event: table): string?  a line for people who watch
local M = setmetatable({ word = true, stub = "prompt" }, Agent)
M.__index = M

local FIELDS <const> = {
  program = { type = "text" },
  args = { type = "string", list = true, default = {} },
  model = { type = "text" },
  effort = { type = "text" },
  tools = { type = "text", list = true },
  permission = { type = "text" },
  system = { type = "text" },
  output = { type = "table" },
  env = { type = "text", list = true, default = {} },
  cwd = { type = "text" },
  sandbox = { type = "sandbox" },
  sandbox_default = { type = "sandbox", default = sandbox.read("work") }, -- a script's own agent has none
  timeout = { type = "seconds", default = 86400 },
  stall = { type = "seconds", default = 900 },
  on_stall = { enum = { "end", "report", "ask" }, default = "end" },
  max_output = { type = "positive", default = 64 << 20 },
  max_repairs = { type = "count", default = 2 },
  acts = { type = "boolean", default = true },
  idempotent = { type = "boolean" },
}

-- Environment variables that every coding agent gets in addition to those that every program gets.
local AROUND <const> = { "USER", "LOGNAME", "SHELL", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
  "XDG_CACHE_HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
  "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR" }

---@class skillrt.CodingReply  what a coding agent's file reads out of its events
---@field text string?       its last words
---@field value any          what it gave in a schema
---@field session string?
---@field used skillrt.Usage?
---@field problem string?    the words with which it failed; condition.lua interprets them
---@field code integer?      the HTTP status behind it, where it names one
---@field acted boolean?     it used a tool
---@field failure skillrt.Failure?  set where its own file knows what the failure means

---A kind of coding agent, with what all have.
---@param kind table
---@return skillrt.CodingAgent
function M.new(kind)
  kind.FIELDS = Agent.fields(FIELDS, kind.FIELDS)
  return Agent.new(kind, M) --[[@as skillrt.CodingAgent]]
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M:check(definition, where)
  local agent, message = Agent.check(self, definition, where)
  for _, name in ipairs(agent and agent.env or {}) do
    if not name:find("^[%a_][%w_]*$") then
      message = message or ('%s: env %q is not a variable\'s name'):format(where, name)
    end
  end
  return not message and agent or nil, message
end

---Whether the program has its own sandbox; then skillrt adds no second one, unless somebody asks for one.
---@param task skillrt.Task
---@return boolean
function M:has_sandbox(task) -- luacheck: no self, no unused args
  return false
end

---Whether a call changes nothing outside of its program; then it may be repeated.
---@param task skillrt.Task
---@return boolean
function M:only_reads(task) -- luacheck: no unused args
  return self.reads_only == true
end

---How it is named in messages.
---@return string
function M:label()
  return self.model and ("%s:%s"):format(self.kind, self.model) or self.kind
end

-- ---- what it is given ----

-- The rate gate of the account that it uses.
local function gate_of(agent)
  local account = { agent.program, os.getenv("HOME") or "" }
  for _, name in ipairs(agent.ALLOWED) do
    account[#account + 1] = os.getenv(name) or ""
  end
  return gate.of(agent.kind, table.concat(account, "\0"))
end

-- Its environment variables, besides those of our own environment.
local function environment(agent, task)
  local env = { SKILL_DIR = task.dir, CLAUDE_SKILL_DIR = task.dir, SKILLRT_WORK_DIR = task.store:path() }
  tables.fill(env, tables.set(agent.env))
  return env
end

---Adds options to arguments, each with its value where there is one.
---@param argv string[]
---@return fun(name: string, value: string|nil|false)
function M.adder(argv)
  return function(name, value)
    if value then
      argv[#argv + 1], argv[#argv + 2] = name, value
    end
  end
end

---The declared schema as text, for programs that take it as an argument.
---@param value table
---@return string
function M.schema_text(value)
  return assert(json.encode(value, { sorted = true }))
end

-- ---- what it says ----

---The events of an output: lines that are JSON objects; others are words for people.
---@param body string
---@return table[]
function M.events(body)
  local list = {}
  for line in body:gmatch("[^\n]+") do
    local event = line:byte() == 123 and json.decode(line) or nil
    if type(event) == "table" then
      list[#list + 1] = event
    end
  end
  return list
end

---What a reply says, for people.
---@param reply table
---@return string?
function M:words(reply)
  local ok, read = pcall(self.read, M.events(reply.body or ""), reply.extra or "", reply.code)
  return ok and (read.value ~= nil and M.schema_text(read.value) or read.text) or nil
end

-- Lines for the live view, made of what arrives; a line may come in pieces.
local function shower(agent)
  local rest = ""
  return function(bytes)
    local out = {}
    rest = rest .. bytes
    if #rest > 1 << 20 then
      rest = "" -- a line too long to show
    end
    while true do
      local stop = rest:find("\n", 1, true)
      if not stop then
        break
      end
      local event = rest:byte() == 123 and json.decode(rest:sub(1, stop - 1)) or nil
      rest = rest:sub(stop + 1)
      local ok, text = pcall(agent.show, tables.object(event))
      out[#out + 1] = ok and text or nil
    end
    return out[1] and table.concat(out, "\n") .. "\n" or nil
  end
end

-- Cached, because both the judge and the reader of a reply look at the output.
local function reader(agent)
  local body, answer
  return function(reply)
    if reply.body ~= body then
      body = reply.body
      local ok, read = pcall(agent.read, M.events(body or ""), reply.extra or "", reply.code)
      answer = ok and read or { failure = { class = "transient", executed = "perhaps",
        message = "its event output has an unexpected form" } }
      local words = answer.problem or answer.value == nil and condition.is_told(answer.text or "") and answer.text
      if words and not answer.failure then
        answer.failure = condition.told(words, answer.code, answer.acted or false)
      end
    end
    return answer
  end
end

-- What its exit code and its events mean together.
local function judge(read)
  return function(reply)
    local answer = read(reply)
    local failure = answer.failure
    if not failure and reply.code == 0 and answer.text == nil and answer.value == nil then
      local message = failure_of.of_program("it exited with 0, without a result", reply)
      failure = { class = "transient", message = message, executed = "perhaps" }
    end
    return failure
  end
end

-- Its arguments; a person's extra arguments go where the program accepts them.
local function argv_of(agent, task, want)
  local argv = agent:argv(task, want)
  for i, word in ipairs(agent.args) do
    table.insert(argv, (agent.ARGS_BEHIND or 1) + i, word)
  end
  return argv
end

-- The files it needs: its saved sessions, its login, its provider. It may read, but not write, its settings, as they
-- decide what it executes next time.
local function needs_of(agent, task)
  local variable, name = table.unpack(agent.FOLDER)
  local folder, home = os.getenv(variable), os.getenv("HOME")
  folder = folder or home and files.join(home, name)
  local out = { read = {}, write = {}, network = tables.append({}, agent.NEEDS.network), instead = agent.NEEDS.instead,
    only_reads = agent:only_reads(task) or nil, lifts = true }
  for _, what in ipairs(folder and { "read", "write" } or {}) do
    for _, path in ipairs(agent.NEEDS[what]) do
      table.insert(out[what], files.join(folder, path))
    end
  end
  for _, url in ipairs(agent.URLS) do
    local secure, place = (os.getenv(url) or ""):match("^http(s?)://([^/?#]+)")
    place = place and place:gsub("^.*@", "")
    out.network[#out.network + 1] = place and (place:find(":%d+$") and place
      or place .. (secure == "s" and ":443" or ":80")) or nil
  end
  return out
end

---The request for a task, in its session where there is one.
---@param task skillrt.Task
---@param text string
---@param talk skillrt.Prompts
---@return table request
function M:request(task, text, talk)
  local want = { schema = task.schema, session = talk.session }
  local argv = argv_of(self, task, want)
  talk.read = reader(self)
  return {
    kind = "command",
    argv = argv,
    shown = argv[1],
    stdin = text,
    env = environment(self, task),
    around = table.move(self.ALLOWED, 1, #self.ALLOWED, #AROUND + 1, tables.append({}, AROUND)),
    cwd = task.cwd or self.cwd,
    sandbox = self.sandbox,
    sandbox_default = self:has_sandbox(task) and sandbox.read("off") or self.sandbox_default,
    needs = needs_of(self, task),
    declared = { argv = argv_of(self, task,
      { declared = true, session = want.session and "{session}", schema = want.schema }) },
    judge = judge(talk.read),
    gate = gate_of(self),
    model = self:model_of(task) or self.kind,
    converses = true,
    idempotent = self:only_reads(task) or nil,
    show = shower(self),
    max_output = self.max_output,
    idle_timeout = self.stall,
    silence = self.on_stall == "end" and "spare" or self.on_stall, -- one that is seen to work is not ended
    noise = self.NOISE,
    retry = { max = (task.action or task.phase or {}).max_retries },
  }
end

-- What agents print when a session is missing on this machine.
local LOST <const> = { "no conversation found", "no rollout found", "no saved session found", "session not found",
  "invalid session identifier", "no previous sessions found" }

---Whether a failure means that the session does not exist.
---@param message string
---@return boolean
function M:has_lost(message) -- luacheck: no self
  for _, words in ipairs(LOST) do
    if message:lower():find(words, 1, true) then
      return true
    end
  end
  return false
end

---What its events mean.
---@param reply table
---@param task skillrt.Task
---@param talk skillrt.Prompts
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
---@return string[]? left_out
function M:outcome(reply, task, talk) -- luacheck: no self
  local answer = talk.read(reply)
  talk.session, talk.said = answer.session, answer.text or ""
  local outcome, failure, left_out
  if task.schema and answer.value ~= nil and json_schema.judge(task.schema, answer.value) then
    outcome = answer_of.value(answer.value, task)
  else
    outcome, failure, left_out = answer_of.text(talk.said, task, task.schema)
  end
  (outcome or failure).used = answer.used
  return outcome, failure, left_out
end

---What of it is installed on this machine.
---@return table
function M:here()
  local path = files.program(self.program)
  return { name = self.kind, kind = "program", found = path ~= nil, path = path, keys = self.KEYS }
end

return M
