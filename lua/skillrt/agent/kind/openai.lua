-- agent/kind/openai.lua: a model behind the Chat Completions or the Responses API: OpenAI's own, or a compatible
-- server (llama.cpp, vLLM, Ollama, gateways).
--
-- wire/openai_chat.lua and wire/openai_responses.lua write the two forms; model.lua holds the conversation.

local model = require("skillrt.agent.model")

---@class skillrt.agent
---@field openai fun(definition: table): skillrt.Agent  { api = "chat" | "responses", model =, url =, key_env =, ... }

---@class skillrt.OpenaiAgent: skillrt.ModelAgent
local M = model.new({ kind = "openai", FIELDS = {
  api = { enum = { "chat", "responses" }, default = "chat" },
  organization = { type = "text" },
  project = { type = "text" },
  structured = { enum = { "schema", "object", "words" }, default = "schema" },
  store = { type = "boolean", default = false },
} })

local WIRES <const> = {
  chat = require("skillrt.agent.wire.openai_chat"),
  responses = require("skillrt.agent.wire.openai_responses"),
}

M.SPANS = { { "/chat/completions", "openai", "chat", WIRES.chat }, { "/responses", "openai", "chat", WIRES.responses } }

---@type skillrt.Vendor
M.vendor = {
  url = "https://api.openai.com",
  root = "/v1",
  url_env = "OPENAI_BASE_URL",
  key_env = "OPENAI_API_KEY",
  model = "gpt-5",
}

local PATHS <const> = { chat = "/chat/completions", responses = "/responses" }

-- The headers, and which of them are declared.
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
function M:check(definition, where)
  local agent, message = model.check(self, definition, where)
  if agent then
    agent.wire = setmetatable({ headers = headers }, { __index = WIRES[agent.api] })
    agent.vendor = setmetatable({ path = PATHS[agent.api] }, { __index = self.vendor })
  end
  return agent, message
end

return M
