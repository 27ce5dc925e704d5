-- tool/mcp/file.lua: reads a file that lists MCP servers in the format of other programs (`.mcp.json`,
-- `.vscode/mcp.json`, a desktop app's configuration): translates their fields, and reports those without a meaning
-- here.
--
-- Starts nothing, checks no values: server.lua does. Called by server.lua, by the loader of a folder, which reports
-- what was found, and by whoever shows what a folder starts.

local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")

local M = {}

local MAX_FILE <const> = 1 << 20

local function set(words)
  local out = {}
  for word in words:gmatch("%S+") do
    out[word] = true
  end
  return out
end

-- Fields with another name elsewhere.
local NAMES <const> = { serverUrl = "url", httpUrl = "url", transport = "type", transportType = "type",
  workingDirectory = "cwd" }
local OF_OAUTH <const> = { clientId = "client_id", clientSecret = "client_secret", scopes = "scope",
  callbackPort = "port", client_id = "client_id", client_secret = "client_secret", scope = "scope", port = "port",
  grant = "grant", addresses = "addresses" }
local KINDS <const> = { stdio = "stdio", ["local"] = "stdio", http = "http", streamablehttp = "http", remote = "http" }

-- Fields for people or for the program that the file was written for.
local SILENT <const> = set("description note notes comment name title displayName icon version author homepage "
  .. "category tags setup gallery metadata dev disabled enabled isActive")

-- Fields that are ignored here, and what is reported about them.
local UNKNOWN <const> = "is unknown here, and was ignored"
local LEAVE <const> = "has no meaning here: use `approval` for tools that need a person's approval"
local UNREAD <const> = { auth = UNKNOWN, authentication = UNKNOWN, authProvider = UNKNOWN, autoApprove = LEAVE,
  alwaysAllow = LEAVE, trust = LEAVE, envFile = "is not read: name what it needs in env, as ${NAME}" }

-- Removes comments, or commas that nothing follows, as editors write JSON.
local function without(text, pattern, drop)
  local parts, from, pos = {}, 1, 1
  while true do
    local at = text:find(pattern, pos)
    if not at then
      parts[#parts + 1] = text:sub(from)
      return table.concat(parts)
    elseif text:byte(at) == 34 then
      pos = at + 1
      repeat
        local stop = text:find('["\\]', pos) or #text
        pos = stop + (text:byte(stop) == 92 and 2 or 1)
      until text:byte(stop) ~= 92
    else
      local behind = drop(text, at)
      if behind then
        parts[#parts + 1] = text:sub(from, at - 1)
        from = behind
      end
      pos = behind or at + 1
    end
  end
end

local function comment(text, at)
  local second = text:sub(at + 1, at + 1)
  if second == "/" then
    return text:find("\n", at, true) or #text + 1
  end
  return second == "*" and (select(2, text:find("*/", at + 2, true)) or #text) + 1 or nil
end

local function comma(text, at)
  return text:find("^%s*[%]}]", at + 1) and at + 1
end

local function decoded(text)
  text = text:gsub("^\239\187\191", "")
  local value, message = json.decode(text)
  if value == nil then
    value = json.decode(without(without(text, '["/]', comment), '[",]', comma))
  end
  return value, message
end

-- The servers of a file: under a known key, or the whole object.
local function servers_of(raw)
  if type(raw) ~= "table" then
    return nil
  end
  local inner = type(raw.mcp) == "table" and raw.mcp.servers
  for _, list in ipairs({ raw.mcpServers or false, raw.servers or false, inner or false }) do
    if type(list) == "table" then
      return list
    end
  end
  local one = raw[names.sorted(raw)[1]]
  return type(one) == "table" and (one.command or one.url or one.serverUrl) and raw or nil
end

-- Values in our types: numbers that stand for texts.
local function texts(list)
  if type(list) ~= "table" then
    return list
  end
  local out = {}
  for key, value in pairs(list) do
    if value ~= json.null then
      out[key] = (type(value) == "number" or type(value) == "boolean") and tostring(value) or value
    end
  end
  return out
end

-- Its transport; or nil and why not.
local function kind_of(given)
  given = type(given) == "table" and given.type or given
  local kind = type(given) == "string" and KINDS[given:lower():gsub("[-_]", "")]
  if given == nil or given == json.null or kind then
    return kind or nil
  end
  return nil, ("speaks %s, which is not supported (there are stdio and http)%s"):format(names.show(given),
    given == "sse" and "; many such servers have streamable HTTP at another URL" or "")
end

-- How tokens are obtained, in our words.
local function oauth_of(given, tell)
  local out = {}
  for _, key in ipairs(names.sorted(given)) do
    if OF_OAUTH[key] then
      out[OF_OAUTH[key]] = given[key]
    else
      tell("warning", ("field %s of oauth %s"):format(names.show(key), UNKNOWN))
    end
  end
  return out
end

-- One server in our words; nil: it is left out. `tell(level, text)` reports what else was found.
local function translated(one, known, tell)
  if one.disabled == true or one.enabled == false or one.isActive == false then
    return tell("note", "is disabled there, and left out")
  end
  local out = {}
  for _, key in ipairs(names.sorted(one)) do
    local value, field = one[key], NAMES[key] or key
    local unread = UNREAD[key] or not known[field] and not names.nearest(key, known) and UNKNOWN
    if value == json.null or SILENT[key] or key:find("^[_$/]") then
      goto continue
    elseif unread then
      tell(unread == LEAVE and "note" or "warning", ("field %s %s"):format(names.show(key), unread))
    elseif key == "oauth" and type(value) == "table" then
      out.oauth = oauth_of(value, tell)
    elseif field == "type" then
      local kind, why = kind_of(value)
      if why then
        return tell("warning", why .. "; it is left out")
      end
      out.type = kind
    else
      out[field] = value -- or misspelt, which is refused
    end
    ::continue::
  end
  out.env, out.args, out.headers = texts(out.env), texts(out.args), texts(out.headers)
  if type(out.timeout) == "number" and out.timeout >= 1000 then
    out.timeout = out.timeout / 1000 -- others count milliseconds
  end
  local asks = (json.encode(out, { sorted = true }) or ""):match("%${input:[^}\"]*}")
  if asks then
    tell("warning", ("%s cannot be asked for here: write ${NAME}, and set it in the environment"):format(asks))
  end
  return out
end

-- A name that tool names may contain.
local function named(name)
  return (name:gsub("[^%w_-]+", "_"):gsub("__+", "_"):sub(1, 32):gsub("^_+(.)", "%1"):gsub("(.)_+$", "%1"))
end

---The servers of a file, in the words of server.lua.
---@param path string
---@param known table<string, any>  the fields that a server has
---@return table<string, table>|nil servers
---@return string|{ level: "note"|"warning", text: string }[] notes  or why there are none
function M.read(path, known)
  local text, message = files.read(path, MAX_FILE)
  if not text then
    return nil, message --[[@as string]]
  end
  local raw
  raw, message = decoded(text)
  local list = servers_of(raw)
  if not list then
    return nil, ("%s: %s"):format(path, raw == nil and message or 'needs an object "mcpServers", or "servers"')
  end
  local out, notes = {}, {}
  for _, given in ipairs(names.sorted(list)) do
    local one, name = list[given], named(given)
    local function tell(level, words)
      notes[#notes + 1] = { level = level, text = ("mcp %s: %s"):format(names.show(given), words) }
    end
    local is_object = json.is_object(one)
    if not is_object and not given:find("^[_$/]") then
      return nil, ("mcp %s: must be an object"):format(names.show(given))
    end
    local server = is_object and translated(one, known, tell)
    if server and out[name] then
      tell("warning", ("is left out: another one is called %s here, too"):format(name))
    elseif server then
      out[name] = server
      if name ~= given then
        tell("note", ("is called %s here"):format(name))
      end
    end
  end
  return out, notes
end

return M
