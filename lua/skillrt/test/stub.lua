-- test/stub.lua: the agent that stands in for a model or a coding agent in a test: it is told what these are told, and
-- what it says is judged as what an agent says.
--
-- Its call leaves for nowhere: test/world.lua answers it. Knows tasks and answers, no runs.

local answer_of = require("skillrt.agent.answer")
local ask = require("skillrt.agent.ask")
local json = require("skillrt.base.json")

---@class skillrt.StubAgent
local M = { kind = "stub", perform = ask.perform, is_script = false }
M.__index = M

-- Agents that no test may ask: what they answer is of a form of their own.
M.STANDS_FOR = { anthropic = true, openai = true, claude = true, codex = true, gemini = true, host = true, dry = true }

-- A model stays one, with its tools, its turns and its talk; only whom it asks is another.
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
  return setmetatable(copy, require("skillrt.agent.anthropic"))
end

---What a model's server would say of an answer, or of the tools that it wants to use.
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

---@param name string
---@param agent table|nil  whose place it takes
---@return table
function M.new(name, agent)
  if agent and (agent.kind == "anthropic" or agent.kind == "openai") then
    return of_model(name, agent)
  end
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
