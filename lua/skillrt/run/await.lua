-- run/await.lua: a request that a script wrote itself for ctx.await, checked before it is taken.
--
-- What is wrong with it is told to the script where it called, so that nothing wrong reaches
-- the engine. Knows the fields of the core's tasks, no agents. Called by exchange.lua.

local command = require("skillrt.agent.command")
local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")

local M = {}

local TIMES = { timeout = { kind = "seconds" }, idle_timeout = { kind = "seconds" } }

local function with_times(fields)
  for name, field in pairs(TIMES) do
    fields[name] = field
  end
  fields.kind = { kind = "text", required = true }
  fields.idempotent = { kind = "boolean" }
  return fields
end

local FIELDS = {
  http = with_times({
    url = { kind = "text", required = true },
    method = { kind = "text", default = "GET" },
    headers = { kind = "string", map = true, default = {} },
    body = { kind = "string" },
    ca_file = { kind = "text" },
    max_reply = { kind = "positive" },
    max_redirects = { kind = "count", default = 0 },
    connect_timeout = { kind = "seconds" },
  }),
  command = with_times({
    argv = { kind = "string", list = true, required = true },
    stdin = { kind = "string", default = "" },
    env = { kind = "string", map = true },
    cwd = { kind = "text" },
    max_output = { kind = "positive" },
  }),
  sleep = with_times({ seconds = { kind = "number", required = true } }),
}

local function allowed_environment()
  local env = {}
  for _, name in ipairs(command.ALLOWED) do
    env[name] = os.getenv(name)
  end
  return env
end

local function check_http(request)
  if not request.url:lower():find("^https?://[^/%s%c][^%s%c]*$") then
    return ("url %s does not begin with http:// or https://"):format(names.show(request.url))
  elseif not request.method:find("^%u+$") then
    return ("method %s must be capitals, such as POST"):format(names.show(request.method))
  end
  for name, value in pairs(request.headers) do
    if not name:find("^[%w!#$%%&'*+.^_`|~-]+$") or value:find("[%z\1-\8\10-\31\127]") then
      return ("header %s cannot be sent"):format(names.show(name))
    end
  end
  if request.method == "GET" and request.body then
    return "a GET request has no body; set method"
  end
end

local function check_command(request)
  if #request.argv == 0 or request.argv[1] == "" then
    return "argv names no program"
  end
  request.env = request.env or allowed_environment()
  for _, list in ipairs({ request.argv, request.env }) do
    for _, text in pairs(list) do
      if text:find("\0", 1, true) then
        return "argv and env must not hold NUL bytes"
      end
    end
  end
end

local function check_sleep(request)
  if request.seconds < 0 or request.seconds > 1e9 then
    return ("seconds must be from 0 to 1e9, not %s"):format(names.show(request.seconds))
  end
end

local CHECKS = { http = check_http, command = check_command, sleep = check_sleep }

---A checked copy of a request, in the core's form of a task.
---@param request table
---@return table? task
---@return string? message
function M.check(request)
  local fields = FIELDS[request.kind]
  if not fields then
    return nil, ('kind must be "http", "command" or "sleep", not %s; or name an agent'):format(names.show(request.kind))
  end
  local task, message = schema.record(request, fields, "its request")
  if not task then
    return nil, message
  end
  message = CHECKS[task.kind](task)
  return not message and task or nil, message
end

return M
