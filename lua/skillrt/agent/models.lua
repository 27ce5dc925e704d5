-- agent/models.lua: which model a word such as "haiku" means for each kind of agent. A person may change the table
-- (`models` in their config.json). Scripts and agents' files use these words.
--
-- Knows names of models, no providers.

local person = require("skillrt.agent.person")

local M = {}

---By word, then by kind of agent. Claude Code knows the words itself.
---@type table<string, table<string, string>>
M.OURS = {
  haiku = { anthropic = "claude-haiku-4-5", openai = "gpt-5-mini", codex = "gpt-5.1-codex-mini",
    gemini = "gemini-2.5-flash" },
  sonnet = { anthropic = "claude-sonnet-4-5", openai = "gpt-5", codex = "gpt-5.1-codex", gemini = "gemini-2.5-pro" },
  opus = { anthropic = "claude-opus-4-5", openai = "gpt-5", codex = "gpt-5.1-codex-max", gemini = "gemini-2.5-pro" },
}

local own -- a person's, read when one is first asked for

---The model that a word or a name means to an agent; nil: it is another provider's, and the agent uses its own.
---@param agent table
---@param model string?
---@return string?
function M.of(agent, model)
  if not own then
    local settings = person.read()
    own = settings and settings.models or {}
  end
  local row = model and (own[model] or M.OURS[model])
  local chosen = own[model] and own[model][agent.kind]
  if not model or chosen then
    return chosen
  elseif row then
    return agent.kind == "claude" and model or not agent.url and M.OURS[model] and M.OURS[model][agent.kind] or nil
  end
  local is_known = agent.kind == "claude" or agent.url ~= nil -- others know only the names of their provider
  return (is_known or (model:find("^claude") ~= nil) == (agent.kind == "anthropic")) and model or nil
end

return M
