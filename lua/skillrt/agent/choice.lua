-- agent/choice.lua: chooses the agent of a step from all places that may name one, and reads the word by which a
-- person chooses an agent: a kind, with or without a model, an address, or a program.
--
-- The one place that knows their order. Knows no documents and no runs: callers pass in what those declare.

local agent_file = require("skillrt.agent.file")
local agents = require("skillrt.agent")
local names = require("skillrt.base.names")
local person = require("skillrt.agent.person")
local tables = require("skillrt.base.tables")
local url_of = require("skillrt.agent.url")

local M = {}

---The environment's agent: a word, an address, or a program that reads the task on its standard input.
M.VARIABLE = "SKILLRT_AGENT"

---Whether a text names one of our agents, or several ("claude,codex"): the next one is asked when the one before it
---reaches its usage limit.
---@param text string
---@return string|nil kind
---@return string? model
function M.word(text)
  if text:find(",", 1, true) then
    for word in text:gmatch("[^,]+") do
      if not M.word(word) then
        return nil
      end
    end
    return "chain"
  end
  local kind, model = text:match("^(%l+):(.+)$")
  kind = agents.kind(kind or text)
  if kind and kind.word then
    return kind.kind, model
  end
end

---What a word means, as an agent's definition.
---@param value string|string[]|table  a list is a program with its arguments; another table is an agent already
---@param env string[]?  more variables that a program is given
---@return table
function M.of(value, env)
  if type(value) == "table" and (value.kind ~= nil or type(value[1]) ~= "string") then
    return value
  end
  local kind, model = nil, nil
  if type(value) == "string" then
    kind, model = M.word(value)
  end
  if kind == "chain" then
    local links = {}
    for word in value:gmatch("[^,]+") do
      links[#links + 1] = M.of(word, env)
    end
    return { kind = kind, links = links, on = { "rate_limit" } }
  elseif kind then
    return { kind = kind, model = model, env = agents.kind(kind).FIELDS.env and env or nil }
  elseif type(value) == "string" and value:find("^https?://") then
    return { kind = "http", url = value, name = url_of.shown(value) }
  end
  local argv = type(value) == "table" and tables.append({}, value) or { value }
  local given
  for _, name in ipairs(env or {}) do
    given = given or {}
    given[name] = true
  end
  return { kind = "command", argv = argv, stdin = "{prompt}", parse = "json", env = given,
    sandbox_default = "off", name = argv[1]:match("[^/]*$") } -- the person chose it
end

local function in_environment()
  local value = os.getenv(M.VARIABLE)
  return value ~= "" and value or nil
end

-- The first definition that one of these lists has under one of these names.
local function by_name(lists, list)
  for _, name in pairs(list) do
    for _, given in ipairs(lists) do
      if given[name] then
        return given[name]
      end
    end
  end
end

-- The agent that a file describes, under the name that a step asks for.
local function as_in_file(agent, name, folder)
  local file = agent and type(name) == "string" and agent_file.find(name, folder)
  return file and agent_file.applied(agent, file) or nil
end

---The agent of a step that asks for one by name. Tried in this order: the agent given for that name, the one given
---for all steps ("*", as by --agent), the environment, the document's own, the person's settings.
---@param asked string[]  the name, then a more general one
---@param given table<string, table>[]  definitions by name, the first list first
---@param own string|table|nil   what the document names for all its steps
---@param folder string|nil      the skill's, which may hold agents' files
---@return table|nil definition
---@return string? message  what is wrong with the person's settings
function M.of_step(asked, given, own, folder)
  local agent, message = by_name(given, asked), nil
  if agent then
    return agent
  end
  agent = by_name(given, { "*" })
  local word = in_environment() or own
  if not agent and word then
    agent = M.of(word)
  elseif not agent then
    local settings
    settings, message = person.read()
    agent = settings and (settings.agents and settings.agents[asked[1]]
      or settings.agent and M.of(settings.agent, settings.agent_env)) or nil
    if type(agent) == "table" and agent.kind == "command" then
      agent.sandbox_default = agent.sandbox_default or "off" -- it is theirs, too
    end
  end
  return as_in_file(agent, asked[1], folder) or agent, message
end

local READER <const> = { tools = { "Read", "Grep", "Glob" }, reads_only = true }
-- The agent types that hosts define themselves.
local BUILT_IN <const> = { Explore = READER, Plan = READER, ["general-purpose"] = {} }

---The agent of a prompt that a run asks (ctx.agent).
---@param skill skillrt.Skill
---@param given any         a definition, a name or a word; nil: the skill's own
---@param agent_type string|nil  a declared type of that name, a file that describes the agent, or a host's own type
---@return table|nil agent  checked
---@return string? message
function M.of_prompt(skill, given, agent_type)
  if type(given) == "table" then
    return agents.check(given, "agent")
  end
  local known = skill.agents
  local only = next(known)
  local own = known.default or only and next(known, only) == nil and known[only] or nil
  if not given and agent_type and known[agent_type] then
    return known[agent_type]
  elseif not given and not own then
    return nil, only and "say which agent: " .. table.concat(names.sorted(known), ", ")
      or "no agent is declared: agents = { default = skillrt.chosen_agent() } in the skill is that of --agent"
  end
  local agent, message = given == nil and own or known[given], nil
  if not agent and type(given) == "string" and M.word(given) then
    agent, message = agents.check(M.of(given), "agent")
  end
  local file, looked, there = nil, nil, nil
  if agent_type then
    file, looked, there = agent_file.find(agent_type, skill.dir)
    file = file or BUILT_IN[agent_type]
  end
  if agent_type and not file and not known[agent_type] then
    return nil, ("agentType %s: no agent of that name%s%s"):format(names.show(agent_type),
      names.suggest(agent_type, tables.fill(tables.fill(there, BUILT_IN), known)),
      looked[1] and "; looked for " .. table.concat(looked, ", ") or "")
  end
  agent = agent and file and agent_file.applied(agent, file) or agent or as_in_file(own, given, skill.dir)
  if agent then
    return agent
  end
  return nil, message or ("agent %s is not declared%s"):format(names.show(given), names.suggest(tostring(given), known))
end

---The agent of all steps that name none, for people: its word, and where it was set.
---@return string|nil agent
---@return string? where  or what is wrong with the person's settings
function M.in_force()
  local word = in_environment()
  if word then
    return url_of.shown(word), M.VARIABLE
  end
  local settings, message = person.read()
  local agent = settings and settings.agent
  if agent then
    return type(agent) == "string" and agent or agent.kind or agent[1], person.path()
  end
  return nil, message
end

return M
