-- tool/mcp/oauth/store.lua: stores for each server that requires authorization: tokens, our client identity, its last
-- demand. A file for each URL, readable only by its person.
--
-- In $XDG_STATE_HOME/skillrt/oauth or ~/.local/state/skillrt/oauth; none of it enters a journal.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")

local M = {}

local MAX_FILE <const> = 1 << 20
local CLAIM <const> = 45 -- seconds that a refresh by another process may take

---@class skillrt.OauthKept
---@field want table?    { scope, metadata, oauth, ca_file }: what a run found out that a login needs
---@field token table?   { access, refresh, scope, issuer, endpoint, resource, client = { id, secret, method } }
---@field claimed integer?  when a process started to refresh it

local function path_of(url)
  local base = files.state_home()
  return base and ("%s/oauth/%s.json"):format(base, files.digest(url):sub(1, 32)), base and base .. "/oauth"
end

---The stored data for a URL; an empty table: none, or others may read it. What cannot be read is not replaced:
---`unreadable` says why, and `write` refuses it.
---@param url string
---@return skillrt.OauthKept
function M.read(url)
  local path = path_of(url)
  if not path or files.is_open_to_others(path) then
    return {}
  end
  local text, message, code = files.read(path, MAX_FILE)
  if not text and code ~= "missing" then
    return { unreadable = message }
  end
  local kept = text and json.decode(text)
  return type(kept) == "table" and kept.url == url and kept or {}
end

---@param url string
---@param kept skillrt.OauthKept
---@return boolean|nil ok
---@return string? message
function M.write(url, kept)
  local path, folder = path_of(url)
  if not path then
    return nil, "there is no folder for tokens: set HOME or XDG_STATE_HOME"
  elseif kept.unreadable then
    return nil, kept.unreadable
  end
  kept.url = url
  local ok, message = files.make_folders(folder)
  if ok then
    ok, message = files.write(path, assert(json.encode(kept, { sorted = true })))
  end
  return ok, message
end

---Whether a file existed and was removed; or nil and why not.
---@param url string
---@return boolean|nil
---@return string? message
function M.remove(url)
  local path = path_of(url)
  if not path or not files.stat(path) then
    return false
  end
  return files.remove(path)
end

---Whether this process may refresh the token; false: another one is doing so.
---@param url string
---@return boolean
function M.claim(url)
  local kept, now = M.read(url), os.time()
  if kept.claimed and kept.claimed <= now and now - kept.claimed < CLAIM then
    return false
  end
  kept.claimed = now
  M.write(url, kept)
  return true
end

---Ends a claim whose refresh failed; `refresh`: a token that is no longer valid.
---@param url string
---@param refresh string?
function M.release(url, refresh)
  local kept = M.read(url)
  kept.claimed = nil
  if refresh and kept.token and kept.token.refresh == refresh then
    kept.token.refresh = nil
  end
  M.write(url, kept)
end

return M
