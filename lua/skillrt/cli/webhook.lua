-- cli/webhook.lua: Standard Webhooks (standardwebhooks.com): the signed bytes, checking a signature, the token of a
-- question's link, and the message about a run: a CloudEvent.
--
-- Sends nothing. Called by `skillrt notify` and `skillrt serve`.

local base64 = require("skillrt.base.base64")
local core = require("skillrt.core")
local files = require("skillrt.base.files")

local M = {}

local PREFIX <const>, BLOCK <const>, SECONDS <const> = "whsec_", 64, 300

local function digest(text)
  return base64.of_hex(core.sha256(text))
end

local function hmac(key, text)
  key = #key > BLOCK and digest(key) or key
  key = key .. ("\0"):rep(BLOCK - #key)
  local function masked(mask)
    return (key:gsub(".", function(char)
      return string.char(char:byte() ~ mask)
    end))
  end
  return digest(masked(0x5c) .. digest(masked(0x36) .. text))
end

---The secret in a file that only its owner may read; writes the file if it is missing.
---@param path string
---@param prefix string
---@return string|nil secret  without the prefix
---@return string? message
function M.secret(path, prefix)
  local text, message, code = files.read(path, 1000)
  if code == "missing" then
    local secret = base64.encode(base64.of_hex((core.uuid() .. core.uuid()):gsub("-", "")))
    local ok, why = files.create(path, prefix .. secret .. "\n")
    return ok and secret or nil, why
  end
  local secret = text and text:match("^%s*" .. prefix .. "([%w._~+/-]+=*)%s*$")
  if text and files.is_open_to_others(path) then
    return nil, path .. ": can be read by others: chmod 600, or remove it"
  elseif not secret or #secret < 32 then
    return nil, message or ("%s: must hold %sand at least 32 characters; remove it, and it is written"):format(path,
      prefix ~= "" and prefix .. " " or "a token: ")
  end
  return secret
end

---The webhook key in a file.
---@param path string
---@return string|nil key
---@return string? message
function M.key(path)
  local secret, message = M.secret(path, PREFIX)
  local key = secret and base64.decode(secret)
  if secret and not key then
    message = path .. ": what follows " .. PREFIX .. " is not base64"
  end
  return key, message
end

---@param key string
---@param id string
---@param at integer  seconds since 1970
---@param body string
---@return string
function M.signature(key, id, at, body)
  return "v1," .. base64.encode(hmac(key, ("%s.%d.%s"):format(id, at, body)))
end

---Whether a request was signed with the key, and recently.
---@param key string
---@param headers table<string, string>
---@param body string
---@return string|nil id
---@return string? message
function M.opened(key, headers, body)
  local id, at = headers["webhook-id"], math.tointeger(tonumber(headers["webhook-timestamp"]))
  if not id or id == "" or #id > 200 or id:find("[%c%s]") or not at then
    return nil, "webhook-id, webhook-timestamp and webhook-signature are needed"
  elseif math.abs(core.wall_ms() // 1000 - at) > SECONDS then
    return nil, ("its time is more than %d s away from that of this machine"):format(SECONDS)
  end
  local wanted = core.sha256(M.signature(key, id, at, body)) -- compared in constant time
  for one in (headers["webhook-signature"] or ""):gmatch("%S+") do
    if core.sha256(one) == wanted then
      return id
    end
  end
  return nil, "its signature is invalid"
end

---The token that answers one question once: another question's nonce gives another token.
---@param key string
---@param run_id string
---@param one table  the open question
---@return string
function M.token(key, run_id, one)
  return base64.of_url(hmac(key, ("answer %s %d %s"):format(run_id, one.q, one.nonce or ""))):sub(1, 32)
end

---The message about a run that stopped: a CloudEvent, with the same id each time.
---@param status table  of report/status.lua
---@param links fun(question: table): string|nil
---@return table event
function M.event(status, links)
  for _, one in ipairs(status.questions or {}) do
    one.link = links(one)
  end
  return { specversion = "1.0", id = ("%s.%d"):format(status.run_id, status.records),
    type = "skillrt.run." .. status.status, source = "urn:skillrt:run:" .. status.run_id,
    subject = status.skill, time = status.updated_at,
    datacontenttype = "application/json", data = status }
end

return M
