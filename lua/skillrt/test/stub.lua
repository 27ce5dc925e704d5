-- test/stub.lua: the agent that replaces a model or a coding agent in a test: it gets the same prompts, and its
-- answer is judged in the same way.
--
-- Its call is not sent: test/world.lua answers it. Knows tasks and answers, no runs.

local Agent = require("skillrt.agent.kind")
local answer_of = require("skillrt.agent.answer")
local json = require("skillrt.base.json")

---@class skillrt.StubAgent: skillrt.Agent
local M = Agent.new({ kind = "stub", FIELDS = {} })

-- A model stays a model, with its tools, turns and conversation; only the server is replaced.
local function of_model(name, agent)
  local copy = {}
  for key in pairs(require("skillrt.agent.provider").FIELDS) do
    copy[key] = rawget(agent, key)
  end
  for _, key in ipairs({ "key_env", "key_file", "extra", "effort", "pace" }) do
    copy[key] = nil
  end
  copy.name, copy.stands_for, copy.url, copy.stream, copy.cache = name, agent.kind, "http://stub.invalid", false, false
  copy.version, copy.structured, copy.headers = "stub", "format", {}
  return setmetatable(copy, require("skillrt.agent").kind("anthropic"))
end

---How a model's server would send an answer, or the tools that it wants to use.
---@param text string|nil
---@param calls table[]|nil  { name, input } each
---@return string body
function M.message(text, calls)
  local content = {}
  if text then
    content[1] = { type = "text", text = text }
  end
  for i, call in ipairs(calls or {}) do
    content[#content + 1] = { type = "tool_use", id = ("use_%d"):format(i), name = call[1],
      input = call[2] or {} }
  end
  return assert(json.encode({ id = "stub", type = "message", role = "assistant", model = "stub", content = content,
    stop_reason = calls and "tool_use" or "end_turn", usage = { input_tokens = 0, output_tokens = 0 } }))
end

---What replaces an agent: a stub, or the agent itself.
---@param name string
---@param agent table
---@param has_stub boolean  the test defines a stub with this name
---@return table
function M.of(name, agent, has_stub)
  if agent.stub == "model" then
    return of_model(name, agent)
  elseif agent.stub == "prompt" or not agent.stub and has_stub then
    return setmetatable({ name = name, stands_for = agent.kind, timeout = agent.timeout,
      idempotent = agent.idempotent, acts = agent.acts }, M)
  end
  return agent
end

function M:request(_, text)
  return { kind = "http", method = "POST", url = "http://stub.invalid/", headers = {}, body = text,
    shown = self.name }
end

function M:outcome(reply, task) -- luacheck: no self
  return answer_of.text(reply.body or "", task, task.schema)
end

return M
