-- tool/run.lua: the tool `run`: a program, by its words, where the skill's list allows them. There is no shell.
--
-- A row of the list is words: each matches itself, "*" matches any one word that is no option, "..." at the end any
-- words. Knows lists of words, no processes.

local command = require("skillrt.tool.command")
local names = require("skillrt.base.names")
local roots_of = require("skillrt.tool.roots")

local M = {}

M.FIELDS = {
  allow = { type = "table", list = true, required = true },
  cwd = { type = "text" },
  env = { type = "string", map = true },
  timeout = { type = "seconds", default = 600 },
  max_output = { type = "positive", default = 16 << 20 },
}

local INPUT <const> = {
  type = "object",
  properties = { argv = { type = "array", items = { type = "string" }, minItems = 1,
    description = "the program and its arguments, a word each; there is no shell" } },
  required = { "argv" },
  additionalProperties = false,
}

local function fits(row, argv)
  for i, word in ipairs(row) do
    if word == "..." then
      return true
    elseif argv[i] == nil or word == "*" and argv[i]:sub(1, 1) == "-" or word ~= "*" and word ~= argv[i] then
      return false
    end
  end
  return #argv == #row
end

local function shown(rows)
  local out = {}
  for i, row in ipairs(rows) do
    out[i] = table.concat(row, " ")
  end
  return table.concat(out, "; ")
end

local function is_allowed(tool, argv)
  for _, word in ipairs(argv) do
    if word:find("\0", 1, true) then
      return false
    end
  end
  for _, row in ipairs(tool.allow) do
    if fits(row, argv) then
      return true
    end
  end
  return false
end

local function perform(tool, ctx, arguments, task)
  if not is_allowed(tool, arguments.argv) then
    return nil, ("these words are not allowed; allowed are: %s (* is any word that is no option, ... any words)")
      :format(shown(tool.allow))
  end
  local cwd = tool.cwd
  if cwd then
    local message
    cwd, message = roots_of.folder(cwd, task)
    if not cwd then
      return nil, message
    end
  end
  return command.run(ctx, tool, arguments.argv, { cwd = cwd, env = tool.env, timeout = tool.timeout,
    max_output = tool.max_output })
end

---@param given table
---@param where string
---@return table|nil parts
---@return string? message
function M.make(given, where)
  for i, row in ipairs(given.allow) do
    for k, word in ipairs(row) do
      if type(word) ~= "string" or word == "" or k == 1 and (word == "*" or word == "...") then
        return nil, ("%s: allow[%d] must be a program and words, not %s"):format(where, i, names.show(word))
      end
    end
    if #row == 0 then
      return nil, ("%s: allow[%d] must be a list of words that begins with a program"):format(where, i)
    end
  end
  given.description = given.description or "Runs a program. Allowed are: " .. shown(given.allow)
    .. " (* is any word that is no option, ... any words)"
  given.input, given.perform, given.source, given.alone = INPUT, perform, "built in", true
  given.acts = given.acts ~= false
  return given
end

return M
