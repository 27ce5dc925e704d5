-- tool/command.lua: a tool that is a program: a list of words in which {name} stands for an argument. There is no
-- shell, and no argument becomes an option of the program.
--
-- What it prints is what the model is told, whatever its exit code. Knows argument tables, no processes.

local names = require("skillrt.base.names")
local words_of = require("skillrt.tool.words")

local M = {}

M.FIELDS = {
  command = { type = "string", list = true, required = true },
  description = { type = "text", required = true },
  stdin = { type = "string" },
  cwd = { type = "text" },
  env = { type = "string", map = true },
  timeout = { type = "seconds", default = 600 },
  max_output = { type = "positive", default = 16 << 20 },
  ok_codes = { type = "count", list = true },
  usage = { type = "table" },
}

---What a program came to, as a model is told it.
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
    max_output = more.max_output, usage = more.usage, acts = tool.acts, idempotent = tool.idempotent,
  })
  reply = reply or bad
  if more.usage and reply then
    ctx.used(more.usage) -- what it may use counts as used: a program does not tell
  end
  if reply and reply.status == "ok" then
    return M.told(reply, more.ok_codes)
  end
  return nil, message
end

local function perform(tool, ctx, arguments)
  local argv, problem = words_of.filled(tool.command, arguments)
  local stdin = argv and tool.stdin
  if stdin then
    stdin, problem = words_of.text(stdin, arguments)
  end
  if problem then
    return nil, problem
  end
  return M.run(ctx, tool, argv, setmetatable({ stdin = stdin or nil }, { __index = tool }))
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
  for _, word in ipairs({ given.stdin or "", table.unpack(given.command) }) do
    for name in words_of.names(word) do
      if not known[name] then
        return nil, ("%s: {%s} in command is not in the properties of input%s"):format(where, name,
          names.suggest(name, known))
      end
    end
  end
  if given.acts == nil then
    given.acts = true
  end
  given.perform = perform
  return given
end

return M
