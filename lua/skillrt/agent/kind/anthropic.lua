-- agent/kind/anthropic.lua: a model behind the Messages API.
--
-- The wire (wire/anthropic.lua) writes requests and reads replies; model.lua holds the conversation.

local model = require("skillrt.agent.model")

---@class skillrt.agent
---@field anthropic fun(definition: table): skillrt.Agent  { model =, url =, key_env =, key_file =, version =, auth =,
---  beta =, headers =, max_tokens =, system =, output = a JSON Schema, extra = more of the body, effort =, ... }

---@class skillrt.AnthropicAgent: skillrt.ModelAgent
local M = model.new({ kind = "anthropic", FIELDS = {
  version = { type = "text", default = "2023-06-01" },
  auth = { enum = { "x-api-key", "bearer" } },
  beta = { type = "text", list = true },
  cache = { type = "boolean", default = true },
  structured = { enum = { "tool", "format" }, default = "tool" },
} })

M.wire = require("skillrt.agent.wire.anthropic")
M.SPANS = { { "/v1/messages", "anthropic", "chat", M.wire } }

---@type skillrt.Vendor
M.vendor = {
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

return M
