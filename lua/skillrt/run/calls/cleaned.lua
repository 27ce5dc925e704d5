-- run/calls/cleaned.lua: a reply before it is kept: without the secrets of its request and what looks like a key,
-- and all of it text.
--
-- Pure. Called by over.lua.

local hidden = require("skillrt.base.secrets")
local json = require("skillrt.base.json")
local record = require("skillrt.base.record")

local M = {}

local SHORTEST <const> = 8 -- bytes of a secret

local FIELDS <const> = { "body", "extra", "message" }

-- A text without the secrets of its request: a server may send back what it was sent.
-- A short one is a word ("none", "ollama"), which servers of one's own are given for a key, and no secret.
local function without(text, secrets)
  for _, secret in ipairs(secrets) do
    local escaped = #secret >= SHORTEST and assert(json.encode(secret)):sub(2, -2)
    for _, found in ipairs(escaped and { secret, escaped ~= secret and escaped or nil } or {}) do
      if text:find(found, 1, true) then
        text = text:gsub(found:gsub("%W", "%%%0"), "{key}")
      end
    end
  end
  return text
end

---A reply as it is kept. Bytes that are no UTF-8 are replaced: the script has to see the same now and after a
---crash.
---@param reply table  changed
---@param secrets string[]?
---@return table reply
function M.reply(reply, secrets)
  for i = 1, #FIELDS do
    local text = reply[FIELDS[i]]
    if text and not utf8.len(text) then
      text = record.printable(text)
    end
    text = text and secrets and without(text, secrets) or text
    reply[FIELDS[i]] = text and hidden.clean(text)
  end
  return reply
end

return M
