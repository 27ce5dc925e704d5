-- agent/kind.lua: what every agent has, unless its kind says otherwise. A kind of agent is one file, kind/<kind>.lua,
-- that returns Agent.new of its table; nothing else names it: help, `skillrt agents`, tests, simulations and traces
-- ask the files of the folder.
--
-- Knows no kind. Required by the files in kind/.

local conversation = require("skillrt.agent.conversation")
local json_schema = require("skillrt.base.json_schema")
local schema = require("skillrt.skill.schema")
local tables = require("skillrt.base.tables")

---@class skillrt.Agent
---@field kind string               its kind's name, and that of the kind's file
---@field FIELDS table<string, skillrt.Field>  what a definition may hold besides `kind` and `name`
---@field name string?
---@field acts boolean              its calls may change something
---@field idempotent boolean?       they may be sent again when nobody knows whether they arrived
---@field is_script boolean         a function of the script performs it
---@field word boolean?             people choose it by its kind's name: --agent claude, --agent claude:MODEL
---@field stub "model"|"prompt"|"own"|nil  what answers in its place in `skillrt test`: a model, or an agent that is
---  asked once, whatever the test says; its own program or server; nil: it performs the step, unless it has a stub
---@field models "claude"|"claude-"|nil    which models of agents' files it takes: all, those named in full, others
---@field SPANS any[][]             how reports know its calls: a part of the address or the program's name, provider,
---  operation, of a model its wire
---@field words (fun(kind: skillrt.Agent, reply: table, row: any[]): string?)|nil  what a reply says, for people
---@field max_repairs integer       how often it is asked to write its answer again
---@field request (fun(agent: table, task: skillrt.Task, text: string, talk: skillrt.Prompts): table|nil, string?)|nil
---@field outcome (fun(agent: table, reply: table, task: skillrt.Task, talk: skillrt.Prompts): skillrt.Outcome|nil,
---  skillrt.Failure|nil, string[]|nil)|nil  what a reply means
---@field here (fun(kind: skillrt.Agent): table)|nil  what `skillrt agents` says of it
local Agent = { is_script = false, max_repairs = 1, SPANS = {} }
Agent.__index = Agent

---A kind of agent.
---@param kind table    its own fields
---@param class table?  what it has besides, that is no part of every agent
---@return skillrt.Agent
function Agent.new(kind, class)
  kind.FIELDS.kind, kind.FIELDS.name = { enum = { kind.kind } }, { type = "text" }
  kind.__index = kind
  return setmetatable(kind, class or Agent)
end

---Fields of several tables in one.
---@param ... table<string, skillrt.Field>
---@return table<string, skillrt.Field>
function Agent.fields(...)
  local all = {}
  for _, list in ipairs({ ... }) do
    tables.fill(all, list)
  end
  return all
end

---What an author wrote, as a table of fields.
---@param given any
---@return any definition
function Agent.normal(given)
  return given
end

---An agent of this kind, of a table of fields.
---@param definition table
---@param where string  names it in messages
---@param check (fun(value: any, where: string): table?, string?)|nil  of other agents
---@return table? agent
---@return string? message
function Agent:check(definition, where, check) -- luacheck: no unused args
  local agent, message = schema.record(definition, self.FIELDS, where)
  if not agent then
    return nil, message
  end
  agent.kind = nil -- the class has it
  if agent.output then
    local _, why = json_schema.check(agent.output, where .. ": output")
    if why then
      return nil, why
    end
    agent.output = json_schema.normal(agent.output)
  end
  setmetatable(agent, self)
  if agent.idempotent == nil then
    agent.idempotent = not agent.acts
  end
  return agent
end

---How it is named in messages.
---@return string
function Agent:label()
  return self.name and ('agent "%s"'):format(self.name) or "agent " .. self.kind
end

---The functions of a host that it calls.
---@return string[]
function Agent:functions() -- luacheck: no self
  return {}
end

---Whether nothing but HTTP can perform it.
---@return boolean
function Agent:needs_http() -- luacheck: no self
  return false
end

---Whether it is asked in words, and can be asked to write its answer again.
---@return boolean
function Agent:reads_prompt() -- luacheck: no self
  return true
end

---How it is talked to, and the loop that does so; a kind may have its own.
Agent.conversation, Agent.perform = conversation.prompts, conversation.perform

---What a reply says that is a failure: in its own words, where it has any.
---@param reply table|nil
---@param message string
---@param class skillrt.FailureClass
---@return string message
---@return skillrt.FailureClass class
function Agent:explain(reply, message, class) -- luacheck: no self, no unused args
  return message, class
end

---The most that one attempt may take: an answer, and once more for its form.
---@param definition table  as an author wrote it, or checked
---@param cost_of fun(agent: any): table|nil  of other agents
---@return { calls: number, tokens: number, dollars: number }|nil  nil: nobody knows
function Agent.cost(definition, cost_of) -- luacheck: no unused args
  return { calls = 2, tokens = 0, dollars = 0 }
end

return Agent
