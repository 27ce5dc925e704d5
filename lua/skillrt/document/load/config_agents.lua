-- document/load/config_agents.lua: who performs what a config leaves to "universal-executor", a model or another
-- type: found in the caller's agents, in x_skillrt.agents, in the environment, or as x_skillrt.agent (F47).
--
-- Starts nothing. Called by load.config only.
local agent_file = require "skillrt.agent.file"
local names = require "skillrt.base.names"

local M = {}

-- The environment's agent: an address, or a program that reads the task on its standard input.
M.VARIABLE = "SKILLRT_AGENT"

-- The agents of who loads a script, for the time it runs; see M.with.
local ambient

local Agents = {}
Agents.__index = Agents

---Runs a function; what it loads finds these agents when it names none itself, and may do
---without: a run is what needs them.
---@param agents table<string, table>?
---@param work function
---@return any ...  what it returns
function M.with(agents, work)
  local before = ambient
  ambient = agents or {}
  local results = table.pack(pcall(work))
  ambient = before
  if not results[1] then
    error(results[2], 0)
  end
  return table.unpack(results, 2, results.n)
end

---Who was chosen for all steps while a script is loaded, as by --agent; nil: nobody.
---@return table?
function M.ambient()
  return ambient and ambient["*"]
end

---An agent from what a person types: one of our words, an address, or a program that reads the task on its
---standard input, alone or as a list with its arguments.
---@param value string|string[]|table  another table is an agent already
---@param env string[]?  more variables that a program is given
---@return table
function M.from_text(value, env)
  return require("skillrt.agent.chosen").of(value, env)
end

-- The agent that a config chooses for all its steps, by one word or as a definition; who runs it may choose another.
local function own_agent(value)
  return value ~= nil and M.from_text(value) or nil
end

---@param config skillrt.generate.Config
---@param options skillrt.load.ConfigOptions
function M.new(config, options)
  local own = config.x_skillrt.agents
  return setmetatable({
    chosen = own_agent(config.x_skillrt.agent),
    given = { options.agents or {}, type(own) == "table" and own or {}, ambient or {} },
    required = options.agents_required ~= false and not ambient,
    folder = options.folder,
    found = {},
    missing = {},
  }, Agents)
end

local function from_environment()
  local value = os.getenv(M.VARIABLE)
  return value and value ~= "" and M.from_text(value) or nil
end

-- What a person's own settings say; or what is wrong with them.
local function from_person(name)
  local person, message = require("skillrt.agent.person").read()
  if not person then
    return nil, message
  end
  local own = person.agents and person.agents[name]
  return own or person.agent and M.from_text(person.agent, person.agent_env) or nil
end

local function absent(name)
  return {
    kind = "lua",
    run = function()
      error(("agent %s: nobody performs it here"):format(names.show(name)), 0)
    end,
  }
end

-- What somebody gave for one of these names.
function Agents:given_for(list)
  for _, key in pairs(list) do
    for _, given in ipairs(self.given) do
      if given[key] then
        return given[key]
      end
    end
  end
end

-- A name that is declared once for all steps that ask for the same thing.
function Agents:need(name, more)
  local id = name:gsub("[^%w._-]", "-"):gsub("^[^%w]", "x"):gsub("%.%.+", "."):sub(1, names.MAX_ID)
  if not self.found[id] then
    local agent = self:given_for({ name, more })
    local problem
    if not agent then
      agent = self:given_for({ "*" }) or from_environment() or self.chosen
      if not agent then
        agent, problem = from_person(name)
      end
      local file = agent and agent_file.find(name, self.folder)
      agent = file and agent_file.applied(agent, file) or agent
    end
    if not agent then
      self.missing[#self.missing + 1] = problem and ("%s (%s)"):format(name, problem) or name
    end
    self.found[id] = agent or absent(name)
  end
  return id
end

-- A model with others to fall back on is a chain of them (F47).
local function chain_id(self, first, fallback)
  local ids, links = {}, {}
  for _, tool in ipairs { first, table.unpack(fallback) } do
    if type(tool) == "string" and not ids[tool] then
      ids[tool] = true
      ids[#ids + 1] = self:need(tool, "llm")
      links[#links + 1] = self.found[ids[#ids]]
    end
  end
  if #ids == 1 then
    return ids[1]
  end
  local id = table.concat(ids, "."):sub(1, names.MAX_ID)
  self.found[id] = { kind = "chain", links = links }
  return id
end

function Agents:of_phase(phase)
  local agent = phase.agent
  if agent.type == "llm" and type(agent.tool) == "string" then
    return chain_id(self, agent.tool, type(agent.fallback_chain) == "table" and agent.fallback_chain or {})
  end
  return self:need(agent.type)
end

function Agents:of_action(action)
  local tool = type(action.tool) == "table" and action.tool or {}
  if action.type == "llm" and type(tool.primary) == "string" then
    return chain_id(self, tool.primary, type(tool.fallback_chain) == "table" and tool.fallback_chain or {})
  end
  local agent = type(action.agent) == "table" and action.agent.type or action.agent
  return self:need(type(agent) == "string" and agent or "universal-executor")
end

---All agents the steps asked for.
---@return table<string, table>? agents
---@return string|string[]|nil missing  the message; or, where agents may be missing, their names
function Agents:all()
  table.sort(self.missing)
  if self.required and #self.missing > 0 then
    local message = 'nobody performs %s: give them in agents = { ["%s"] = ... }, '
      .. "in x_skillrt.agent or .agents of the config, by skillrt run --agent, or set %s to a program or an address"
    return nil, message:format(table.concat(self.missing, ", "), self.missing[1], M.VARIABLE)
  end
  return self.found, #self.missing > 0 and self.missing or nil
end

---The agents of a definition whose steps all name the same one.
---@param name string
---@param agents table<string, table>?
---@return table<string, table> agents
---@return string[]? missing
function M.only(name, agents)
  local own = M.new({ x_skillrt = {} }, { agents = agents, agents_required = false })
  own:need(name)
  return own:all()
end

return M
