-- agent/kind/command.lua: an agent that is a program, started by its argument list and never through a shell; and the
-- meaning of its output.
--
-- Its environment is a short allow list and what the script declares. The request goes to ctx.await; the C core
-- starts the process.

local Agent = require("skillrt.agent.kind")
local expect = require("skillrt.agent.expect")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local place = require("skillrt.base.placeholders")
local reply_of = require("skillrt.agent.reply")
local function_result = require("skillrt.agent.function_result")
require("skillrt.skill.sandbox") -- a type of fields
local values_of = require("skillrt.agent.values")

---@class skillrt.agent
---@field command fun(definition: table): skillrt.Agent  a program: { "prog", "arg", stdin =, env =, cwd =, timeout =,
---  parse =, ok_codes =, max_output = }

---@class skillrt.CommandAgent: skillrt.Agent
local M = Agent.new({ kind = "command", stub = "own", FIELDS = {
  argv = { type = "string", list = true, required = true },
  stdin = { type = "string" },
  env = { type = { "string", "boolean" }, map = true, default = {} },
  cwd = { type = "text" },
  sandbox = { type = "sandbox" },
  sandbox_default = { type = "sandbox" },
  timeout = { type = "seconds" },
  parse = { default = "text" },
  ok_codes = { type = "count", list = true, default = { 0 } },
  max_output = { type = "positive" },
  acts = { type = "boolean", default = true },
  idempotent = { type = "boolean" },
} })

local IN_ENV = setmetatable({ env = true }, { __index = values_of.ROOTS })

---{ "prog", "arg", timeout = 5 } -> { argv = { "prog", "arg" }, timeout = 5 }
---@param definition any
---@return any
function M.normal(definition)
  return Agent.gathered(definition, "argv")
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
      local ok, message = place.check(text, pair[2]:find("^env") and IN_ENV or values_of.ROOTS)
      if not ok or text:find("\0", 1, true) then
        return ("%s: %s: %s"):format(where, pair[2], message or "holds a NUL byte")
      end
    end
  end
  return nil
end

-- Whether the program gets the words of a task, so that it could be asked to rewrite its answer.
local function reads_prompt(agent)
  for _, texts in ipairs({ agent.argv, { agent.stdin }, agent.env }) do
    for _, text in pairs(texts) do
      if type(text) == "string" and (place.holds(text, "prompt") or place.holds(text, "task")) then
        return true
      end
    end
  end
  return false
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M:check(definition, where)
  local agent, message = Agent.check(self, definition, where)
  if not agent then
    return nil, message
  elseif #agent.argv == 0 or agent.argv[1] == "" then
    return nil, where .. ": names no program; write { \"program\", \"argument\", ... }"
  end
  for name in pairs(agent.env) do
    if not name:find("^[%a_][%w_]*$") then
      return nil, ('%s: env "%s" is not a variable\'s name'):format(where, name)
    end
  end
  message = M.check_parse(agent.parse, where) or check_places(agent, where)
  if message then
    return nil, message
  end
  agent.reads_prompt = reads_prompt(agent)
  return agent
end

-- Texts with their placeholders filled in, and as declared for the digest; true and false stand for the environment's
-- value and for none.
local function filled(values, texts, what)
  local out, declared = {}, {}
  for key, text in pairs(texts) do
    if type(text) == "boolean" then
      out[key], declared[key] = text, text and ("{env.%s}"):format(key) or ""
    else
      local real, said = values:fill(text)
      if not real then
        return nil, ("%s: %s"):format(what:format(key), said)
      end
      out[key], declared[key] = real, said
    end
  end
  return out, declared
end

-- Relative folders are resolved against the skill's.
local function below(dir, path)
  return path and path:sub(1, 1) ~= "/" and dir and dir ~= "." and dir .. "/" .. path or path
end

---The request for a task.
---@param task skillrt.Task
---@param text string  the whole text of the task
---@return table? request
---@return string? message
function M:request(task, text)
  local values = values_of.new(self, task, text)
  local argv, declared = filled(values, self.argv, "argument %d")
  local env, declared_env, rest, declared_rest
  if argv then
    env, declared_env = filled(values, self.env, "env %s")
  end
  if env then
    rest, declared_rest = filled(values, { stdin = self.stdin or "", cwd = self.cwd }, "%s")
  end
  if not rest then
    return nil, declared_rest or declared_env or declared
  end
  return {
    kind = "command",
    argv = argv,
    shown = argv[1],
    stdin = rest.stdin,
    env = env,
    cwd = below(task.dir, rest.cwd),
    sandbox = self.sandbox,
    sandbox_default = self.sandbox_default,
    declared = { argv = declared, env = declared_env, stdin = declared_rest.stdin,
      cwd = below(task.dir, declared_rest.cwd) },
    ok_codes = self.ok_codes,
    max_output = self.max_output,
  }
end

local PARSERS = {}

-- A program that is asked in words must print something that is no error; of any other program the text is its own
-- matter.
function PARSERS.text(text, task, agent)
  if agent.reads_prompt and (task.kind == "phase" or text:find("%S")) then
    local good, problem = expect.judge("text", "command", { status = "ok", code = 0, body = text })
    if not good then
      return nil, problem
    end
  end
  return { status = "completed", output = text }
end

function PARSERS.lines(text)
  local lines = {}
  for line in text:gmatch("[^\r\n]+") do
    lines[#lines + 1] = line
  end
  return { status = "completed", output = json.array(lines) }
end

PARSERS.json = reply_of.printed

local function parsed_by_function(parse, reply, task)
  local results = table.pack(pcall(parse, reply.body or "", reply.extra or "", reply.code))
  local outcome, message, class
  if results[1] then
    outcome, message, class = function_result.outcome(task.kind, "parse", table.unpack(results, 2, results.n))
  else
    outcome, message, class = function_result.raised("parse", results[2])
    message = "parse failed: " .. message
  end
  return outcome, not outcome and { class = class, message = message, form = false } or nil
end

---What is wrong with the way in which output is to be read.
---@param parse any
---@param where string
---@return string? message
function M.check_parse(parse, where)
  if type(parse) == "function" or PARSERS[parse] then
    return nil
  end
  return ('%s: field "parse" must be "json", "lines", "text" or a function, not %s%s'):format(where,
    names.show(parse), names.meant(parse, PARSERS))
end

---What the output of a successful program means.
---@param reply table
---@param task skillrt.Task
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
---@return string[]? left_out
function M:outcome(reply, task)
  if type(self.parse) == "function" then
    return parsed_by_function(self.parse, reply, task)
  end
  return PARSERS[self.parse](reply.body or "", task, self)
end

---The failure of a program that ended badly, in its own words if it printed them on standard output.
---@param reply table
---@param message string
---@param class skillrt.FailureClass
---@return string message
---@return skillrt.FailureClass class
function M:explain(reply, message, class) -- luacheck: no self
  local told = reply and reply.status == "ok" and reply_of.told_failure(reply.body or "")
  if not told then
    return message, class
  end
  return told.message, told.class ~= "permanent" and told.class or class
end

return M
