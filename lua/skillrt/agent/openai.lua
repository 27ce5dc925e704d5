-- agent/openai.lua: a model behind the Chat Completions or the Responses API: OpenAI's own, or what speaks like
-- it (llama.cpp, vLLM, Ollama, gateways). The two forms are openai_chat.lua and openai_responses.lua.

local model = require("skillrt.agent.model")
local provider = require("skillrt.agent.provider")

---@class skillrt.OpenaiAgent
local M = { kind = "openai", perform = model.perform, label = model.label, is_script = false,
  acts = false, idempotent = true }
M.__index = M

M.FIELDS = {
  kind = { enum = { "openai" } },
  api = { enum = { "chat", "responses" }, default = "chat" },
  organization = { type = "text" },
  project = { type = "text" },
  structured = { enum = { "schema", "object", "words" }, default = "schema" },
  store = { type = "boolean", default = false },
}
for name, field in pairs(provider.FIELDS) do
  M.FIELDS[name] = field
end

local VENDOR = {
  label = "openai",
  url = "https://api.openai.com",
  root = "/v1",
  url_env = "OPENAI_BASE_URL",
  key_env = "OPENAI_API_KEY",
  model = "gpt-5",
}

local PATHS = { chat = "/chat/completions", responses = "/responses" }

local function headers(agent, endpoint)
  local out, declared = {}, {}
  if endpoint.key then
    out["Authorization"], declared["Authorization"] = "Bearer " .. endpoint.key, "{key}"
  end
  local own = endpoint.vendors_own
  out["OpenAI-Organization"] = agent.organization or own and os.getenv("OPENAI_ORG_ID") or nil
  out["OpenAI-Project"] = agent.project or own and os.getenv("OPENAI_PROJECT_ID") or nil
  return out, declared
end

---@param definition table
---@param where string
---@return table? agent
---@return string? message
function M.check(definition, where)
  local agent, message = model.check(definition, M.FIELDS, where)
  if not agent then
    return nil, message
  end
  local form = require("skillrt.agent.openai_" .. agent.api)
  agent.wire = { headers = headers, body = form.body, read = form.read, show = form.show, field = form.field,
    joins = form.joins, turned = form.turned, opening = form.opening }
  agent.vendor = setmetatable({ path = PATHS[agent.api] }, { __index = VENDOR })
  return setmetatable(agent, M)
end

function M.needs_http()
  return true
end

function M.reads_prompt()
  return true
end

return M
