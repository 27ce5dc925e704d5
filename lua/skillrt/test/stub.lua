-- test/stub.lua: the agent that stands in for a model or a coding agent in a test: it is told what these are told, and
-- what it says is judged as what an agent says.
--
-- Its call leaves for nowhere: test/world.lua answers it. Knows tasks and answers, no runs.

local answer_of = require("skillrt.agent.answer")
local ask = require("skillrt.agent.ask")

---@class skillrt.StubAgent
local M = { kind = "stub", perform = ask.perform, is_script = false }
M.__index = M

-- Agents that no test may ask: what they answer is of a form of their own.
M.STANDS_FOR = { anthropic = true, openai = true, claude = true, codex = true, gemini = true, host = true, dry = true }

---@param name string
---@param agent table|nil  whose place it takes
---@return table
function M.new(name, agent)
  return setmetatable({ name = name, stands_for = agent and agent.kind, timeout = agent and agent.timeout,
    idempotent = agent and agent.idempotent, acts = agent and agent.acts }, M)
end

function M:label()
  return ('agent "%s"'):format(self.name)
end

function M.functions()
  return {}
end

function M.needs_http()
  return false
end

function M.reads_prompt()
  return true
end

function M:request(_, text)
  return { kind = "http", method = "POST", url = "http://stub.invalid/", headers = {}, body = text,
    shown = self.name }
end

function M:read(reply, task) -- luacheck: no self
  return answer_of.text(reply.body or "", task, task.schema)
end

return M
