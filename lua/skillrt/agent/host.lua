-- agent/host.lua: an agent that is a function of the program in which skillrt is embedded (skillrt.h).
--
-- It is given a task as JSON, as a server is, and answers with JSON, as a program prints it. That it is there
-- is checked before the run begins (runner/functions.lua).

local ask = require("skillrt.agent.ask")
local prompt = require("skillrt.agent.prompt")
local reply_of = require("skillrt.agent.reply")
local made = require("skillrt.agent.made")

---@class skillrt.HostAgent
local M = { kind = "host", perform = ask.perform, is_script = false }
M.__index = M

M.FIELDS = {
  kind = { enum = { "host" } },
  name = { type = "text" },
  call = { type = "text", required = true },
  timeout = { type = "seconds" },
  acts = { type = "boolean", default = true },
  idempotent = { type = "boolean" },
}

---@param definition table  { call = name of the function }, or { name }
---@param where string
---@return table? agent
---@return string? message
function M.check(definition, where)
  if definition.call == nil and definition[1] ~= nil then
    local named = {}
    for key, value in pairs(definition) do
      named[key ~= 1 and key or "call"] = value
    end
    definition = named
  end
  local agent, message = made.of(M, definition, where)
  if agent and agent.idempotent == nil and not agent.acts then
    agent.idempotent = true
  end
  return agent, message
end

function M.needs_http()
  return false
end

function M.reads_prompt()
  return true
end

---The functions of the host that it calls.
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

---What the answer of a function means that did its work.
---@param reply table
---@param task skillrt.Task
---@return skillrt.Outcome? outcome
---@return skillrt.Failure? failure
---@return string[]? left_out
function M:read(reply, task) -- luacheck: no self
  return reply_of.printed(reply.body or "", task)
end

return M
