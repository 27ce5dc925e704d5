-- agent/kind/http.lua: an agent behind a URL: how its request is written and how its reply is read.
--
-- The request goes to ctx.await and is never sent here. Knows the words of a task (prompt.lua), not what the JSON of
-- an answer means (reply.lua).

local Agent = require("skillrt.agent.kind")
local condition = require("skillrt.agent.condition")
local fatal = require("skillrt.base.fatal")
local extract = require("skillrt.agent.extract")
local gate = require("skillrt.agent.gate")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local place = require("skillrt.base.placeholders")
local prompt = require("skillrt.agent.prompt")
local reply_of = require("skillrt.agent.reply")
local url_of = require("skillrt.agent.url")
local values_of = require("skillrt.agent.values")

---@class skillrt.agent
---@field http fun(definition: table): skillrt.Agent  a server: { url =, headers =, timeout =, connect_timeout =,
---  stall =, max_reply =, ca_file =, max_redirects =, body =, type = }

---@class skillrt.HttpAgent: skillrt.Agent
local M = Agent.new({ kind = "http", stub = "own", FIELDS = {
  url = { type = "text", required = true },
  headers = { type = "string", map = true, default = {} },
  timeout = { type = "seconds" },
  connect_timeout = { type = "seconds" },
  stall = { type = "seconds" },
  max_reply = { type = "positive" },
  ca_file = { type = "text" },
  max_redirects = { type = "count", default = 0 },
  body = { type = "function" },
  acts = { type = "boolean", default = true },
  idempotent = { type = "boolean" },
  host_tool = { type = "text", default = "Task" },
  type = { type = "text", default = "universal-executor" },
  tool = { type = "text" },
  mode = { type = "text" },
  run_in_background = { type = "boolean" },
} })

-- Where a value may come from: nothing that a model wrote may choose the server or a header.
local ROOTS = { input = true, env = true }

local function check_headers(headers, where)
  for _, name in ipairs(names.sorted(headers)) do
    local ok, message = place.check(headers[name], ROOTS)
    if not ok then
      return ('%s: header "%s": %s'):format(where, name, message)
    end
  end
  return url_of.problem_of_headers(headers, where)
end

local function check_url(url, where)
  local at = where .. ': field "url"'
  if not url:lower():find("^https?://[^/]") and not url:find("^{") then
    return ("%s must begin with http:// or https://, not %s"):format(at, names.show(url))
  elseif url:find("[%s%c]") then
    return ("%s must not hold blanks or control characters"):format(at)
  end
  local ok, message = place.check(url, ROOTS)
  return not ok and ("%s: %s"):format(at, message) or nil
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M:check(definition, where)
  local agent, message = Agent.check(self, definition, where)
  if not agent then
    return nil, message
  end
  message = check_url(agent.url, where) or check_headers(agent.headers, where)
  if not message and agent.run_in_background then
    message = where .. ": run_in_background = true gives a handle, not a result; set timeout instead (F24)"
  end
  if message then
    return nil, message
  end
  agent.run_in_background = nil
  return agent
end

function M.needs_http()
  return true
end

local function has_header(headers, name)
  for known in pairs(headers) do
    if known:lower() == name then
      return true
    end
  end
  return false
end

-- The headers, and the same as declared for the digest.
local function headers_of(agent, values)
  local headers, declared = {}, {}
  for name, value in pairs(agent.headers) do
    local filled, said = values:fill(value)
    if not filled then
      return nil, ('header "%s": %s'):format(name, said)
    elseif not url_of.is_header_value(filled) then
      return nil, ('header "%s": its value holds a line break or control character'):format(name)
    end
    headers[name], declared[name] = filled, said
  end
  if not has_header(headers, "accept") then
    headers["Accept"] = "application/json, text/event-stream;q=0.5"
    declared["Accept"] = headers["Accept"]
  end
  headers["Content-Type"], declared["Content-Type"] = "application/json", "application/json"
  headers["Idempotency-Key"], declared["Idempotency-Key"] = values.real.key, "{key}"
  return headers, declared
end

-- The rate gate of the server and of the account that the agent's own headers identify.
local function gate_of(agent, url, headers)
  local account = {}
  for i, name in ipairs(names.sorted(agent.headers)) do
    account[i] = headers[name]
  end
  return gate.of(url:match("^%a+://[^/]+") or url, table.concat(account, "\0"))
end

-- A text that contains a key, as it was before the key was filled in.
local function without_key(text, key)
  return (text:gsub((key:gsub("%p", "%%%0")), "{key}"))
end

local function own_body(agent, task, text, key)
  local ok, body, problem = pcall(agent.body, task, text)
  if not ok then
    fatal.pass_on(body)
    return nil, "its body function failed: " .. tostring(body)
  elseif type(body) == "table" then
    body, problem = json.encode(body, { sorted = true })
  end
  if type(body) ~= "string" then
    return nil, problem or "its body function must return a text or a table, not " .. names.show(body)
  end
  return body, without_key(body, key)
end

---The request for a task.
---@param task skillrt.Task
---@param text string   the whole text of the task
---@return table? request
---@return string? message
function M:request(task, text)
  local values = values_of.new(self, task, text)
  local url, declared_url = values:fill(self.url)
  if not url then
    return nil, declared_url
  elseif not url_of.is_url(url) then
    return nil, ("%s is not a URL that begins with http:// or https://"):format(names.show(url_of.shown(declared_url)))
  end
  local headers, declared_headers = headers_of(self, values)
  if not headers then
    return nil, declared_headers
  end
  local body, declared_body
  if self.body then
    body, declared_body = own_body(self, task, text, values.real.key)
  else
    body, declared_body = prompt.task(task, text, self)
  end
  if not body then
    return nil, declared_body
  end
  return {
    kind = "http",
    url = url,
    shown = url_of.shown(declared_url),
    method = "POST",
    headers = headers,
    body = body,
    declared = { url = declared_url, headers = declared_headers, body = declared_body },
    judge = condition.of_status,
    secrets = values.secrets[1] and values.secrets or nil,
    gate = gate_of(self, url, headers),
    connect_timeout = self.connect_timeout,
    idle_timeout = self.stall,
    max_reply = self.max_reply,
    ca_file = self.ca_file,
    max_redirects = self.max_redirects,
  }
end

---What a reply with a good status code means.
---@param reply table
---@param task skillrt.Task
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
---@return string[]? left_out
function M:outcome(reply, task) -- luacheck: no self
  local body, object, problem = reply.body or ""
  if extract.is_stream(reply.extra) then
    object, problem = extract.last_event(body, reply_of.find)
  else
    object, problem = reply_of.find(body)
  end
  if not object then
    return nil, { class = "invalid_output", message = problem, form = true }
  end
  return reply_of.outcome(object, task)
end

return M
