-- tool/command.lua: a tool that is a program: a list of words in which {name} is replaced by an argument. There is no
-- shell, and no argument becomes an option of the program.
--
-- The model gets what it prints, whatever its exit code. Knows argument tables, no processes.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local place = require("skillrt.base.placeholders")
require("skillrt.skill.sandbox") -- a type of fields

local M = {}

M.FIELDS = {
  command = { type = "string", list = true, required = true },
  description = { type = "text", required = true },
  stdin = { type = "string" },
  cwd = { type = "text" },
  sandbox = { type = "sandbox" },
  env = { type = "string", map = true },
  timeout = { type = "seconds", default = 600 },
  max_output = { type = "positive", default = 16 << 20 },
  ok_codes = { type = "count", list = true },
  usage = { type = "table" },
}

-- Calls `found` with each argument that a text names as {name}.
local function scan(text, found)
  return place.scan(text, function(name)
    return not name:find(".", 1, true) and found(name) or nil
  end)
end

local function text_of(value)
  if type(value) == "table" then
    return assert(json.encode(value, { sorted = true }))
  end
  return math.type(value) == "float" and value == math.floor(value) and ("%d"):format(value) or tostring(value)
end

-- A text with its arguments filled in; nil: one was not given.
local function text_with(text, arguments)
  local lacks = false
  local out = scan(text, function(name)
    local value = arguments[name]
    lacks = lacks or value == nil or value == json.null
    return text_of(value)
  end)
  return not lacks and out or nil
end

-- The words that replace one word of the command: "{files}" alone becomes a word for each item of a list.
local function expanded(word, arguments)
  local list, out = arguments[word:match("^{([%w_-]+)}$") or ""], {}
  if not json.is_array(list) then
    return { text_with(word, arguments) }
  end
  for i, item in ipairs(list) do
    out[i] = text_of(item)
  end
  return out
end

---The words of a command in which {name} is an argument of a tool: each stays one word, one with a missing argument
---is left out, and none becomes an option through its argument; or nil and why an argument cannot be used.
---@param command string[]
---@param arguments table
---@return string[]|nil argv
---@return string? message
function M.filled(command, arguments)
  local argv, ended = {}, false
  for _, word in ipairs(command) do
    local may_be_option = not ended and word:find("^{[%a_]")
    for _, one in ipairs(expanded(word, arguments)) do
      if one:find("\0", 1, true) then
        return nil, "an argument holds a NUL byte"
      elseif may_be_option and one:sub(1, 1) == "-" then
        return nil, ("the argument %s begins with -: it would be an option of %s"):format(json.encode(one), command[1])
      end
      argv[#argv + 1] = one
    end
    ended = ended or word == "--"
  end
  return argv
end

---The result of a program, as a model gets it.
---@param reply table  { code, stdout, stderr }
---@param ok_codes integer[]?
---@return string|nil text
---@return string? message
function M.told(reply, ok_codes)
  local good = reply.code == 0
  for _, code in ipairs(ok_codes or {}) do
    good = good or reply.code == code
  end
  local parts = { not good and ("exit code %d"):format(reply.code) or nil }
  for _, text in ipairs({ reply.stdout or "", reply.stderr or "" }) do
    parts[#parts + 1] = text:find("%S") and text or nil
  end
  local text = #parts > 0 and table.concat(parts, "\n") or "(no output)"
  if good then
    return text
  end
  return nil, text
end

---Runs a program and waits for its end.
---@param ctx table
---@param tool skillrt.Tool
---@param argv string[]
---@param more table  { stdin, cwd, env, timeout, max_output, ok_codes, usage }
---@return string|nil text
---@return string? message
function M.run(ctx, tool, argv, more)
  local reply, message, _, bad = ctx.await({
    kind = "command", argv = argv, stdin = more.stdin, cwd = more.cwd, env = more.env, timeout = more.timeout,
    sandbox = more.sandbox, max_output = more.max_output, usage = more.usage, acts = tool.acts,
    idempotent = tool.idempotent,
  })
  reply = reply or bad
  if more.usage and reply then
    ctx.used(more.usage) -- the maximum counts as used: a program does not report its usage
  end
  if reply and reply.status == "ok" then
    return M.told(reply, more.ok_codes)
  end
  return nil, message
end

local function perform(tool, ctx, arguments)
  local argv, problem = M.filled(tool.command, arguments)
  if not argv then
    return nil, problem
  end
  local stdin = tool.stdin and (text_with(tool.stdin, arguments) or "")
  return M.run(ctx, tool, argv, setmetatable({ stdin = stdin }, { __index = tool }))
end

---@param given table
---@param where string
---@return table|nil parts
---@return string? message
function M.make(given, where)
  if #given.command == 0 or given.command[1] == "" or given.command[1]:find("{", 1, true) then
    return nil, where .. ": command must begin with the program, and no argument chooses it"
  end
  local known = (given.input or {}).properties or {}
  local problem
  for _, word in ipairs({ given.stdin or "", table.unpack(given.command) }) do
    scan(word, function(name)
      problem = problem or not known[name] and ("%s: {%s} in command is not in the properties of input%s"):format(where,
        name, names.suggest(name, known)) or nil
    end)
  end
  if problem then
    return nil, problem
  end
  if given.acts == nil then
    given.acts = true
  end
  given.perform = perform
  return given
end

return M
