-- cli/agent.lua: the option --agent, which names the agent of prompt steps: one of our words (claude, anthropic:MODEL
-- ...), a server or a program.
--
-- An address is a server; a JSON array is a program with its arguments; anything else is a program's name or path,
-- taken literally, without a shell. Called by the commands that run skills.

local agents = require("skillrt.agent")
local core = require("skillrt.core")
local tables = require("skillrt.base.tables")

local M = {}

---The words that name an agent.
---@return string
function M.words()
  local list = {}
  for _, kind in ipairs(agents.all()) do
    list[#list + 1] = kind.word and kind.kind or nil
  end
  return table.concat(list, ", ")
end

---The option, for a command's table.
M.OPTION = {
  name = "agent",
  value = "WHO",
  help = function()
    return ("the agent for the steps that are prompts: %s (each may have :MODEL; claude,codex: the next one where "
      .. "a limit is reached), http(s)://..., a program, "
      .. 'or ["program", "argument", ...]; skillrt agents lists those on this machine'):format(M.words())
  end,
}

---The option for its further environment variables, for a command's table.
M.ENV_OPTION = {
  name = "agent-env",
  value = "NAME",
  many = true,
  help = "passes this environment variable to the agent's program, in addition to those it needs",
}

local function argv_of(text)
  if text:sub(1, 1) ~= "[" then
    return { text }
  end
  local argv, problem = core.json.decode(text)
  if argv == nil then
    return nil, "--agent: " .. problem
  end
  for i = 1, math.max(1, #argv) do
    if type(argv[i]) ~= "string" or argv[i] == "" then
      return nil, '--agent: must be a list of texts, the program first: ["program", "argument", ...]'
    end
  end
  return tables.append({}, argv)
end

-- With environment variables it becomes a definition; their values stay in the environment.
local function with_env(agent, env)
  if not env or agent == nil then
    return agent
  end
  for _, name in ipairs(env) do
    if not name:find("^[%a_][%w_]*$") then
      return nil, ("--agent-env: %s is not a variable's name; its value is taken from the environment"):format(
        require("skillrt.base.names").show(name))
    end
  end
  local definition = require("skillrt.agent.choice").of(agent, env)
  if not agents.kind(definition.kind).FIELDS.env then
    return nil, "--agent-env: is for agents that are programs"
  end
  return definition
end

local function one_word(text)
  return text:find("^https?://") or require("skillrt.agent.choice").word(text)
end

---What the options mean, as the journal keeps it: a word, "http://...", an argument list whose program is found from
---any folder, or a definition.
---@param text string|nil  --agent
---@param env string[]|nil  --agent-env
---@return string|string[]|table|nil agent
---@return string? message
function M.read(text, env)
  text = text or env and os.getenv("SKILLRT_AGENT") or nil
  if text == nil then
    return nil, env and "--agent-env: needs --agent" or nil
  elseif text == "" then
    return nil, "--agent: needs a name, an address or a program"
  elseif one_word(text) then
    return with_env(text, env)
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
  return with_env(argv, env)
end

return M
