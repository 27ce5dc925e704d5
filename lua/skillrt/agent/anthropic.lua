-- agent/anthropic.lua: a model behind the Messages API: how a request is written. What comes back is read in
-- anthropic_reply.lua, the talk is model.lua's.
--
-- Turns alternate, every tool call has its result in the turn behind it, nothing is empty. Knows no runs.

local anthropic_reply = require("skillrt.agent.anthropic_reply")
local json = require("skillrt.base.json")
local model = require("skillrt.agent.model")
local provider = require("skillrt.agent.provider")

---@class skillrt.AnthropicAgent
local M = { kind = "anthropic", perform = model.perform, label = model.label, is_script = false,
  acts = false, idempotent = true }
M.__index = M

M.FIELDS = {
  kind = { enum = { "anthropic" } },
  version = { type = "text", default = "2023-06-01" },
  auth = { enum = { "x-api-key", "bearer" } },
  beta = { type = "text", list = true },
  cache = { type = "boolean", default = true },
  structured = { enum = { "tool", "format" }, default = "tool" },
}
for name, field in pairs(provider.FIELDS) do
  M.FIELDS[name] = field
end

---@type skillrt.Vendor
M.vendor = {
  label = "anthropic",
  url = "https://api.anthropic.com",
  root = "/v1",
  always_root = true, -- its address is given without
  path = "/messages",
  url_env = "ANTHROPIC_BASE_URL",
  key_env = "ANTHROPIC_API_KEY",
  token_env = "ANTHROPIC_AUTH_TOKEN", -- goes as a bearer token, as in the official clients
  model = "claude-sonnet-4-5",
  max_tokens = 16384,
}

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M.check(definition, where)
  local agent, message = model.check(definition, M.FIELDS, where)
  return agent and setmetatable(agent, M), message
end

function M.needs_http()
  return true
end

function M.reads_prompt()
  return true
end

local wire = { read = anthropic_reply.read, show = anthropic_reply.show,
  joins = { "text", "partial_json", "thinking" } }
M.wire = wire

function wire.headers(agent, endpoint)
  local headers = { ["anthropic-version"] = agent.version }
  local declared = { ["anthropic-version"] = agent.version }
  if agent.beta then
    headers["anthropic-beta"] = table.concat(agent.beta, ",")
    declared["anthropic-beta"] = headers["anthropic-beta"]
  end
  if endpoint.key then
    local bearer = agent.auth == "bearer" or agent.auth == nil and endpoint.is_token
    local name = bearer and "Authorization" or "x-api-key"
    headers[name] = (bearer and "Bearer " or "") .. endpoint.key
    declared[name] = "{key}"
  end
  return headers, declared
end

-- ---- messages ----

local function text_block(text)
  return { type = "text", text = text }
end

-- A result's text must say something.
local function result_block(result)
  return {
    type = "tool_result",
    tool_use_id = result.id,
    content = result.text:find("%S") and result.text or "(nothing)",
    is_error = result.is_error,
  }
end

local function blocks_of(turn)
  local out = {}
  if turn.role == "user" then
    out[1] = text_block(turn.text)
  elseif turn.role == "model" then
    return turn.content
  else
    for i, result in ipairs(turn.results) do
      out[i] = result_block(result)
    end
  end
  return out
end

local function role_of(turn)
  return turn.role == "model" and "assistant" or "user"
end

wire.field = "messages"

---The messages that a turn becomes; one of the same side as the last is put behind it. What says nothing is none.
---@param turn skillrt.Turn
---@param last table|nil
---@return table[] messages
---@return boolean? merged  the first one takes the place of the last
function wire.turned(turn, last)
  if turn.empty then
    return {}
  end
  local role, blocks = role_of(turn), blocks_of(turn)
  local merged = last ~= nil and last.role == role
  local content = merged and table.move(last.content, 1, #last.content, 1, {}) or {}
  table.move(blocks, 1, #blocks, #content + 1, content)
  return { { role = role, content = json.array(content) } }, merged
end

-- A list with the mark of the provider's cache in its last member.
local function marked(list)
  local copy = table.move(list, 1, #list, 1, {})
  local last = { cache_control = { type = "ephemeral" } }
  for key, value in pairs(copy[#copy]) do
    last[key] = value
  end
  copy[#copy] = last
  return json.array(copy)
end

---What was sent before is read from the cache: a message with a mark at its end.
---@param agent table
---@param message table
---@return table
function wire.mark(agent, message)
  return agent.cache and { role = message.role, content = marked(message.content) } or message
end

---Tools and system prompt stand before all messages: with a mark behind them other talks read them from the cache.
---@param agent table
---@param body table  of wire.body
---@return table|nil  a copy; nil: there is nothing to mark
function wire.mark_head(agent, body)
  local extra = agent.extra or {}
  if not agent.cache or extra.tools or extra.system or not (body.tools or body.system) then
    return nil
  end
  local copy = {}
  for key, value in pairs(body) do
    copy[key] = value
  end
  if body.system then
    copy.system = marked({ text_block(body.system) })
  else
    copy.tools = marked(body.tools)
  end
  return copy
end

local function tools_of(want, answers_by_tool)
  local out = {}
  for i, tool in ipairs(want.tools) do
    out[i] = { name = tool.name, description = tool.description, input_schema = tool.input }
  end
  if answers_by_tool then
    out[#out + 1] = {
      name = model.ANSWER,
      description = "Gives your answer. Call it once, when the work is done.",
      input_schema = want.schema,
    }
  end
  return #out > 0 and json.array(out) or nil
end

-- Tools take objects only; another schema goes the other way.
local function by_tool(agent, want)
  return want.schema and want.schema.type == "object" and agent.structured == "tool"
end

---The body of a request, but for its messages.
---@param agent table
---@param want table  { tools, schema, model, effort }
---@return table
function wire.body(agent, want)
  local tooled = by_tool(agent, want)
  local body = {
    model = want.model,
    max_tokens = agent.max_tokens or M.vendor.max_tokens,
    system = agent.system,
    stream = agent.stream or nil,
    tools = tools_of(want, tooled),
  }
  if tooled then
    body.tool_choice = { type = #want.tools > 0 and "any" or "tool", name = #want.tools == 0 and model.ANSWER or nil }
  end
  if want.schema and not tooled or want.effort then
    body.output_config = {
      format = want.schema and not tooled and { type = "json_schema", schema = want.schema } or nil,
      effort = want.effort,
    }
  end
  for key, value in pairs(agent.extra or {}) do
    body[key] = value
  end
  return body
end

return M
