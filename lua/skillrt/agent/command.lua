-- agent/command.lua: an agent that is a program, given by argv, never through a shell; what its
-- exit code and output mean.
--
-- Its environment is a short allow-list and what the script declares. The request is returned,
-- the process is started by the C core. Called by agent.lua.

local fatal = require("skillrt.base.fatal")
local names = require("skillrt.base.names")
local place = require("skillrt.agent.place")
local reply_of = require("skillrt.agent.reply")
local retry = require("skillrt.skill.retry")
local schema = require("skillrt.skill.schema")

local M = {}

local FIELDS = {
  kind = { enum = { "command" } },
  name = { kind = "text" },
  argv = { kind = "string", list = true, required = true },
  stdin = { kind = "string" },
  env = { kind = { "string", "boolean" }, map = true, default = {} },
  cwd = { kind = "text" },
  timeout = { kind = "seconds" },
  parse = { default = "text" },
  ok_codes = { kind = "count", list = true, default = { 0 } },
  max_output = { kind = "positive" },
  idempotent = { kind = "boolean" },
}

---What a program gets of the environment without being declared.
M.ALLOWED = { "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM" }

---Where the values of placeholders come from.
M.ROOTS = {}
for root in ([[input state state_text inputs output work_dir dir run_id skill step attempt key id
  name context_strategy prompt task]]):gmatch("%S+") do
  M.ROOTS[root] = true
end

local PARSERS = { json = true, lines = true, text = true }
local TRY_AGAIN = 75 -- EX_TEMPFAIL of sysexits.h

-- { "prog", "arg", timeout = 5 } -> { argv = { "prog", "arg" }, timeout = 5 }
local function named_argv(definition)
  if type(definition) ~= "table" or definition.argv ~= nil then
    return definition
  end
  local out, argv = {}, {}
  for key, value in pairs(definition) do
    if math.type(key) == "integer" then
      argv[key] = value
    else
      out[key] = value
    end
  end
  out.argv = next(argv) ~= nil and argv or nil
  return out
end

local function check_places(agent, where)
  local texts = { { agent.stdin, "stdin" }, { agent.cwd, "cwd" } }
  for i, arg in ipairs(agent.argv) do
    texts[#texts + 1] = { arg, ("argument %d"):format(i) }
  end
  for name, value in pairs(agent.env) do
    texts[#texts + 1] = { value, "env " .. name }
  end
  for _, pair in ipairs(texts) do
    local text = pair[1]
    if type(text) == "string" then
      local allowed = pair[2]:find("^env") and setmetatable({ env = true }, { __index = M.ROOTS }) or M.ROOTS
      local ok, message = place.check(text, allowed)
      if not ok or text:find("\0", 1, true) then
        return ("%s: %s: %s"):format(where, pair[2], message or "holds a NUL byte")
      end
    end
  end
  return nil
end

local function check_parse(agent, where)
  local parse = agent.parse
  if type(parse) == "function" or PARSERS[parse] then
    return nil
  end
  local near = type(parse) == "string" and names.nearest(parse, PARSERS)
  return ('%s: field "parse" must be "json", "lines", "text" or a function, not %s%s'):format(
    where,
    names.show(parse),
    near and (' (did you mean "%s"?)'):format(near) or ""
  )
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M.check(definition, where)
  local agent, message = schema.record(named_argv(definition), FIELDS, where)
  if not agent then
    if message:find('"argv" is missing', 1, true) then
      message = where .. ": names no program; write { \"program\", \"argument\", ... }"
    end
    return nil, message
  elseif #agent.argv == 0 or agent.argv[1] == "" then
    return nil, where .. ": names no program; write { \"program\", \"argument\", ... }"
  end
  for name in pairs(agent.env) do
    if not name:find("^[%a_][%w_]*$") then
      return nil, ('%s: env "%s" is not a variable\'s name'):format(where, name)
    end
  end
  message = check_parse(agent, where) or check_places(agent, where)
  agent.kind = "command"
  return not message and agent or nil, message
end

-- Whether the words of a task reach the program, so that it could be asked to write again.
---@param agent table
---@return boolean
function M.reads_prompt(agent)
  for _, text in ipairs({ agent.stdin or "", table.unpack(agent.argv) }) do
    if place.holds(text, "prompt") or place.holds(text, "task") then
      return true
    end
  end
  return false
end

local function environment(agent, roots, getenv)
  local env = {}
  for _, name in ipairs(M.ALLOWED) do
    env[name] = getenv(name)
  end
  for name, value in pairs(agent.env) do
    if value == true then
      env[name] = getenv(name)
    elseif value == false then
      env[name] = nil
    else
      local filled, message = place.fill(value, roots)
      if not filled then
        return nil, ("env %s: %s"):format(name, message)
      end
      env[name] = filled
    end
  end
  return env
end

---@param agent table
---@param call skillrt.Call
---@param roots table  values of placeholders
---@param getenv fun(name: string): string?
---@return table? request
---@return string? message
function M.request(agent, call, roots, getenv)
  local argv = {}
  for i, arg in ipairs(agent.argv) do
    local filled, message = place.fill(arg, roots)
    if not filled then
      return nil, ("argument %d: %s"):format(i, message)
    end
    argv[i] = filled
  end
  local env, message = environment(agent, roots, getenv)
  if not env then
    return nil, message
  end
  local stdin, cwd
  stdin, message = place.fill(agent.stdin or "", roots)
  if not stdin then
    return nil, "stdin: " .. message
  end
  if agent.cwd then
    cwd, message = place.fill(agent.cwd, roots)
    if not cwd then
      return nil, "cwd: " .. message
    elseif cwd:sub(1, 1) ~= "/" and call.dir and call.dir ~= "." then
      cwd = call.dir .. "/" .. cwd
    end
  end
  return {
    kind = "command",
    argv = argv,
    stdin = stdin,
    env = env,
    cwd = cwd,
    timeout = call.timeout or agent.timeout,
    max_output = agent.max_output,
  }
end

-- The last lines a program wrote to standard error, for the message.
local function tail(text)
  local lines = {}
  for line in (text or ""):sub(-4096):gmatch("[^\r\n]+") do
    lines[#lines + 1] = line
    if #lines > 3 then
      table.remove(lines, 1)
    end
  end
  local out = table.concat(lines, "; ")
  return #out > 500 and "..." .. out:sub(-500) or out
end

local function is_ok(agent, code)
  for _, known in ipairs(agent.ok_codes) do
    if code == known then
      return true
    end
  end
  return false
end

local function exited(agent, reply, call)
  local object = reply_of.last_object(reply.body or "")
  if object and type(object.status) == "string" then
    local _, failure = reply_of.outcome(object, call)
    if failure and failure.class == "permanent" then
      return nil, failure
    end
  end
  local words = tail(reply.extra)
  return nil,
    {
      class = reply.code == TRY_AGAIN and "transient" or "permanent",
      message = ("%s exited with %d%s"):format(
        agent.argv[1],
        reply.code,
        words ~= "" and ": " .. words or " and wrote nothing to standard error"
      ),
      reformat = false,
    }
end

local function parsed_by_function(agent, reply)
  local ok, updates, problem, class = pcall(agent.parse, reply.body or "", reply.extra or "", reply.code)
  if not ok then
    fatal.pass_on(updates)
    return nil, { class = "permanent", message = "parse failed: " .. tostring(updates), reformat = false }
  elseif updates == nil and problem ~= nil then
    class = retry.CLASSES[class] ~= nil and class or "invalid_output"
    return nil, { class = class, message = tostring(problem), reformat = false }
  elseif updates ~= nil and type(updates) ~= "table" then
    local message = "parse must return a table of updates, not " .. names.show(updates)
    return nil, { class = "permanent", message = message, reformat = false }
  end
  return { status = "completed", updates = updates }
end

local function parsed_json(agent, reply, call)
  local object = reply_of.last_object(reply.body or "")
  if not object then
    local message = ("%s wrote no JSON object to standard output"):format(agent.argv[1])
    return nil, { class = "invalid_output", message = message, reformat = M.reads_prompt(agent) }
  elseif type(object.status) == "string" or object.stateUpdates ~= nil then
    local outcome, failure = reply_of.outcome(object, call)
    if failure and failure.reformat then
      failure.reformat = M.reads_prompt(agent)
    end
    return outcome, failure
  elseif call.kind == "phase" then
    return { status = "completed", output = object }
  end
  return { status = "completed", updates = object }
end

---What a program that exited by itself means.
---@param agent table
---@param reply table
---@param call skillrt.Call
---@return table? outcome
---@return table? failure
function M.reply(agent, reply, call)
  if not is_ok(agent, reply.code or 0) then
    return exited(agent, reply, call)
  elseif type(agent.parse) == "function" then
    return parsed_by_function(agent, reply)
  elseif agent.parse == "json" then
    return parsed_json(agent, reply, call)
  elseif agent.parse == "lines" then
    local lines = {}
    for line in (reply.body or ""):gmatch("[^\r\n]+") do
      lines[#lines + 1] = line
    end
    return { status = "completed", output = reply_of.array(lines) }
  end
  return { status = "completed", output = reply.body or "" }
end

return M
