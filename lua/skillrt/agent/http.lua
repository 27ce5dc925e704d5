-- agent/http.lua: an agent behind a URL: how the request is written and what a status code
-- means. The request is returned, never sent here.
--
-- Knows the words of a task (prompt.lua), not what a reply's JSON says (reply.lua). Called by
-- agent.lua.

local fatal = require("skillrt.base.fatal")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local place = require("skillrt.agent.place")
local prompt = require("skillrt.agent.prompt")
local schema = require("skillrt.skill.schema")

local M = {}

local FIELDS = {
  kind = { enum = { "http" } },
  name = { kind = "text" },
  url = { kind = "text", required = true },
  headers = { kind = "string", map = true, default = {} },
  timeout = { kind = "seconds" },
  connect_timeout = { kind = "seconds" },
  idle_timeout = { kind = "seconds" },
  max_reply = { kind = "positive" },
  ca_file = { kind = "text" },
  max_redirects = { kind = "count", default = 0 },
  body = { kind = "function" },
  idempotent = { kind = "boolean" },
  host_tool = { kind = "text", default = "Task" },
  type = { kind = "text", default = "universal-executor" },
  tool = { kind = "text" },
  mode = { kind = "text" },
  run_in_background = { kind = "boolean" },
}

-- Where a value may come from: nothing the model wrote chooses the server or a header.
local ROOTS = { input = true, env = true }

-- Headers that are written here or by the transport.
local OURS = {
  ["content-length"] = true,
  ["content-type"] = true,
  ["host"] = true,
  ["idempotency-key"] = true,
  ["transfer-encoding"] = true,
  ["connection"] = true,
}

local function check_headers(headers, where)
  local seen = {}
  for _, name in ipairs(names.sorted(headers)) do
    local at, lower = ('%s: header "%s"'):format(where, name), name:lower()
    if not name:find("^[%w!#$%%&'*+.^_`|~-]+$") then
      return ("%s: not a header's name"):format(at)
    elseif OURS[lower] then
      return ("%s: is written by skillrt; leave it out"):format(at)
    elseif seen[lower] then
      return ("%s: is given twice"):format(at)
    elseif headers[name]:find("[%z\1-\8\10-\31\127]") then
      return ("%s: its value holds a line break or control character"):format(at)
    end
    local ok, message = place.check(headers[name], ROOTS)
    if not ok then
      return ("%s: %s"):format(at, message)
    end
    seen[lower] = true
  end
  return nil
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
function M.check(definition, where)
  local agent, message = schema.record(definition, FIELDS, where)
  if not agent then
    return nil, message
  end
  message = check_url(agent.url, where) or check_headers(agent.headers, where)
  if not message and agent.run_in_background then
    message = where .. ": run_in_background = true gives a handle, not a result; set timeout instead (F24)"
  end
  agent.kind, agent.run_in_background = "http", nil
  return not message and agent or nil, message
end

local function fill_headers(agent, call, roots)
  local headers = {}
  for name, value in pairs(agent.headers) do
    local filled, message = place.fill(value, roots)
    if not filled then
      return nil, ('header "%s": %s'):format(name, message)
    elseif filled:find("[%z\1-\8\10-\31\127]") then
      return nil, ('header "%s": its value holds a line break or control character'):format(name)
    end
    headers[name] = filled
  end
  local function default(name, value)
    for known in pairs(headers) do
      if known:lower() == name:lower() then
        return
      end
    end
    headers[name] = value
  end
  default("Accept", "application/json, text/event-stream;q=0.5")
  headers["Content-Type"] = "application/json"
  headers["Idempotency-Key"] = call.key
  return headers
end

local function body_of(agent, call, text)
  if not agent.body then
    return prompt.task(call, text, agent)
  end
  local ok, body, problem = pcall(agent.body, call, text)
  if not ok then
    fatal.pass_on(body)
    return nil, "its body function failed: " .. tostring(body)
  elseif type(body) == "table" then
    return json.encode(body, { sorted = true })
  elseif type(body) ~= "string" then
    return nil, problem or "its body function must return a text or a table, not " .. names.show(body)
  end
  return body
end

---@param agent table
---@param call skillrt.Call
---@param text string   the whole text of the task
---@param roots table   values of placeholders
---@return table? request
---@return string? message
function M.request(agent, call, text, roots)
  local allowed = { input = roots.input, env = roots.env }
  local url, message = place.fill(agent.url, allowed)
  if url and not (url:lower():find("^https?://[^/%s%c][^%s%c]*$")) then
    return nil, ("%s is not a URL that begins with http:// or https://"):format(names.show(url))
  end
  local headers, body
  if url then
    headers, message = fill_headers(agent, call, allowed)
  end
  if headers then
    body, message = body_of(agent, call, text)
  end
  if not body then
    return nil, message
  end
  return {
    kind = "http",
    url = url,
    method = "POST",
    headers = headers,
    body = body,
    timeout = call.timeout or agent.timeout,
    connect_timeout = agent.connect_timeout,
    idle_timeout = agent.idle_timeout,
    max_reply = agent.max_reply,
    ca_file = agent.ca_file,
    max_redirects = agent.max_redirects,
  }
end

local TRANSIENT = { [408] = true, [425] = true, [500] = true, [502] = true, [504] = true }
local LIMIT = { [429] = true, [503] = true }

---What a status code that is not 2xx means.
---@param code integer
---@return skillrt.FailureClass
function M.class(code)
  if LIMIT[code] then
    return "rate_limit"
  elseif TRANSIENT[code] or code == 507 or code > 511 then
    return "transient"
  end
  return "permanent"
end

---The content type of a reply, in lower case, from its header lines.
---@param extra string?
---@return string
function M.content_type(extra)
  local value = ("\n" .. (extra or "")):lower():match("\ncontent%-type:%s*([^;%s]+)")
  return value or ""
end

return M
