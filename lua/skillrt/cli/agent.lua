-- cli/agent.lua: --agent: who performs the steps that only words describe: a server or a program.
--
-- An address is a server; a JSON array is a program with its arguments; anything else is a
-- program's name or path, as it is: no shell reads it. Called by the commands that run.

local core = require("skillrt.core")

local M = {}

---The option, for a command's table.
M.OPTION = {
  name = "agent",
  value = "WHO",
  help = 'who performs steps that are words: http(s)://..., a program, or ["program", "argument", ...]',
}

local function argv_of(text)
  if text:sub(1, 1) ~= "[" then
    return { text }
  end
  local argv, problem = core.json.decode(text)
  if argv == nil then
    return nil, "--agent: not JSON: " .. problem
  end
  for i = 1, math.max(1, #argv) do
    if type(argv[i]) ~= "string" or argv[i] == "" then
      return nil, '--agent: must be a list of texts, the program first: ["program", "argument", ...]'
    end
  end
  return table.move(argv, 1, #argv, 1, {})
end

---What the option says, as it is kept in the journal: "http://...", or an argv whose program
---is found from any folder.
---@param text string|nil
---@return string|string[]|nil agent
---@return string? message
function M.read(text)
  if text == nil then
    return nil
  elseif text == "" then
    return nil, "--agent: needs an address or a program"
  elseif text:find("^https?://") then
    return text
  end
  local argv, message = argv_of(text)
  if not argv then
    return nil, message
  elseif argv[1]:find("/", 1, true) then
    local files = require("skillrt.base.files")
    argv[1] = files.join(files.current(), argv[1])
    local info
    info, message = files.stat(argv[1])
    if not info then
      return nil, "--agent: " .. message
    end
  end
  return argv
end

return M
