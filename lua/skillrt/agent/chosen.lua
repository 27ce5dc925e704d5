-- agent/chosen.lua: an agent by one word, as a person chooses it: a coding agent, a provider with or without a
-- model, an address, or a program.
--
-- Says what the word means; who asks for it and where words come from is others' business.

local agents = require("skillrt.agent")

local M = {}

---Whether a text chooses one of ours.
---@param text string
---@return string|nil kind
---@return string? model
function M.word(text)
  local kind, model = text:match("^(%l+):(.+)$")
  kind = agents.kind(kind or text)
  if kind and kind.word then
    return kind.kind, model
  end
end

---What a word means, as an agent's definition.
---@param value string|string[]|table  a list is a program with its arguments; another table is an agent already
---@param env string[]?  more variables that a program is given
---@return table
function M.of(value, env)
  if type(value) == "table" and (value.kind ~= nil or type(value[1]) ~= "string") then
    return value
  end
  local kind, model = nil, nil
  if type(value) == "string" then
    kind, model = M.word(value)
  end
  if kind then
    return { kind = kind, model = model, env = agents.kind(kind).FIELDS.env and env or nil }
  elseif type(value) == "string" and value:find("^https?://") then
    return { kind = "http", url = value, name = require("skillrt.agent.url").shown(value) }
  end
  local argv = type(value) == "table" and table.move(value, 1, #value, 1, {}) or { value }
  local given
  for _, name in ipairs(env or {}) do
    given = given or {}
    given[name] = true
  end
  return { kind = "command", argv = argv, stdin = "{prompt}", parse = "json", env = given,
    name = argv[1]:match("[^/]*$") }
end

return M
