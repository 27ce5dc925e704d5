-- agent/kind/host.lua: an agent that is a function of the program in which skillrt is embedded (skillrt.h).
--
-- It gets a task as JSON, as a server does, and answers with JSON, as a program prints it. runner/needs.lua checks
-- before the run begins that the function exists.

local Agent = require("skillrt.agent.kind")
local prompt = require("skillrt.agent.prompt")
local reply_of = require("skillrt.agent.reply")

---@class skillrt.agent
---@field host fun(definition: string|table): skillrt.Agent  a function of the program that embeds skillrt: { "name",
---  timeout =, acts =, idempotent = }

---@class skillrt.HostAgent: skillrt.Agent
local M = Agent.new({ kind = "host", stub = "prompt", FIELDS = {
  call = { type = "text", required = true },
  timeout = { type = "seconds" },
  acts = { type = "boolean", default = true },
  idempotent = { type = "boolean" },
} })

---"name" and { "name" } -> { call = "name" }
---@param given any
---@return any
function M.normal(given)
  if type(given) == "string" then
    return { call = given }
  elseif type(given) ~= "table" or given.call ~= nil or given[1] == nil then
    return given
  end
  local named = {}
  for key, value in pairs(given) do
    named[key ~= 1 and key or "call"] = value
  end
  return named
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M:check(definition, where)
  local agent, message = Agent.check(self, definition, where)
  if agent and definition.idempotent == nil and agent.acts then
    agent.idempotent = nil -- the host says it
  end
  return agent, message
end

---Unknown: the host's function may use anything.
function M.cost()
  return nil
end

---The host's functions that it calls.
---@return string[]
function M:functions()
  return { self.call }
end

---The request for a task.
---@param task skillrt.Task
---@param text string  the whole text of the task
---@return table? request
---@return string? message
function M:request(task, text)
  local body, declared = prompt.task(task, text, self)
  if not body then
    return nil, declared
  end
  return { kind = "host", name = self.call, body = body, declared = { body = declared }, expect = "raw" }
end

---What the answer of a successful function means.
---@param reply table
---@param task skillrt.Task
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
---@return string[]? left_out
function M:outcome(reply, task) -- luacheck: no self
  return reply_of.printed(reply.body or "", task)
end

return M
