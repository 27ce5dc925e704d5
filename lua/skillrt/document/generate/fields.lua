-- document/generate/fields.lua: values of a config: copies, how they are named in messages, safe ids and paths.
--
-- Knows kinds of values, not what a config means. Called by form, config and its parts.
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"

local M = {}

local MAX_DEPTH = 64
local MAX_SHOWN = 60
local MAX_DESCRIPTION <const> = 1024 -- bytes

---A value as it is named in a message.
---@param value any
---@return string
function M.show(value)
  if type(value) == "string" then
    local text = value:gsub("%c", "?")
    return #text > MAX_SHOWN and ("%q..."):format(text:sub(1, MAX_SHOWN)) or ("%q"):format(text)
  elseif value == nil then
    return "nothing"
  elseif value == json.null then
    return "null"
  elseif type(value) == "table" then
    return json.is_array(value) and "a list" or "an object"
  end
  return tostring(value)
end

-- A key of the author's own: what it holds is kept as it is, null too.
local function is_extension(key)
  return type(key) == "string" and key:find "^[xX][_-]" ~= nil
end

---A deep copy; null becomes nothing, so that it gets the default, but not below x_ keys.
---nil for what is no JSON.
---@param value any
---@param depth integer?
---@param keep_null boolean?
---@return any
function M.copy(value, depth, keep_null)
  depth = depth or 0
  local kind = type(value)
  if kind == "string" then
    return utf8.len(value) and value -- JSON is UTF-8
  elseif kind == "number" or kind == "boolean" or value == json.null then
    return value
  elseif kind ~= "table" or depth > MAX_DEPTH then
    return nil
  end
  local array = json.is_array(value)
  local out = array and json.array {} or {}
  for key, item in pairs(value) do
    local plain = item ~= json.null and type(item) ~= "table"
    local keep = keep_null or not plain and is_extension(key)
    if plain or item ~= json.null or keep or array then
      local copied = M.copy(item, depth + 1, keep)
      if copied == nil then
        return nil
      end
      out[key] = copied
    end
  end
  return out
end

---Why a value is no id: letters, digits, ".", "_", "-"; nothing that leaves a folder (F13). nil: it is one.
---@param id any
---@return string? problem
---@return string? code
function M.id(id)
  if type(id) ~= "string" then
    return "must be a text, not " .. M.show(id), "type"
  elseif #id > names.MAX_ID then
    return ("must have at most %d characters, not %d"):format(names.MAX_ID, #id), "id"
  elseif not id:find "^[A-Za-z0-9][A-Za-z0-9._-]*$" or id:find("..", 1, true) then
    local message = "must be letters, digits, '.', '_' and '-', begin with a letter or digit and hold no '..', not %s"
    return message:format(M.show(id)), "id"
  end
end

---What x_skillrt says of one action or phase of a normalised config.
---@param config skillrt.generate.Config
---@param kind "actions"|"phases"
---@param id string
---@return table
function M.own(config, kind, id)
  return (config.x_skillrt[kind] or {})[id] or {}
end

---How often a failed attempt is made again, where a normalised config says it.
---@param config skillrt.generate.Config
---@return integer?
function M.retries(config)
  local limits = config.x_skillrt.limits or {}
  local attempts = math.tointeger(limits.attempts_per_action)
  return (config.x_skillrt.termination or {}).max_retries or limits.max_retries or attempts and attempts - 1
end

---Who performs an action of a normalised config, in the words in which phases say it.
---@param action table
---@return { type: string, tool: string?, fallback_chain: any }
function M.agent(action)
  local tool, agent = action.tool, action.agent
  if action.type == "llm" and type(tool) == "table" and type(tool.primary) == "string" then
    return { type = "llm", tool = tool.primary, fallback_chain = tool.fallback_chain }
  end
  agent = type(agent) == "table" and agent.type or agent
  return { type = type(agent) == "string" and agent or "universal-executor" }
end

---Why a value is no skill's name; nil: it is one.
---@param name any
---@return string? problem
---@return string? code
function M.name(name)
  if type(name) ~= "string" or not name:find "^[a-z][a-z0-9-]*$" or (name .. "-"):find("--", 1, true) then
    local message = "must be small letters, digits and single hyphens and begin with a letter, not %s"
    return message:format(M.show(name)), "name"
  elseif #name < 3 or #name > 30 then
    return ("must have 3 to 30 characters, not %d"):format(#name), "name"
  end
end

---Why a value is no skill's description; nil: it is one.
---@param text any
---@return string? problem
---@return string? code
function M.about(text)
  if type(text) ~= "string" then
    return "must be a text, not " .. M.show(text), "type"
  elseif #text > MAX_DESCRIPTION then
    local message = "is %d bytes long; a skill's description has at most %d: shorten it"
    return message:format(#text, MAX_DESCRIPTION), "description"
  end
end

---Ids that differ only in "-", "." and "_" would become one name in documents and the context.
---@param ids table<string, any> the ids by themselves
---@param key string
function M.check_mapped(ids, key, found)
  local mapped = {}
  for _, id in ipairs(names.sorted(ids)) do
    local name = id:gsub("[^%w_]", "_")
    if mapped[name] then
      found:error("duplicate-id", key, "%s and %s both become %s in names: rename one", mapped[name], id, name)
    end
    mapped[name] = id
  end
end

---Why a value is no path that stays below the folder it is relative to (F13); nil: it is one.
---@param path any
---@return string? problem
---@return string? code
function M.path(path)
  if type(path) ~= "string" or path == "" then
    return "must be a path, not " .. M.show(path), "path"
  elseif path:find "[%c\\`\"'$<>|*?:]" then
    local message = "holds a character that files cannot have everywhere (\\ ` \" ' $ < > | * ? :): %s"
    return message:format(M.show(path)), "path"
  elseif path:sub(1, 1) == "/" or path:sub(-1) == "/" or path:find("//", 1, true) then
    return ("must name a file relative to its folder, not %s"):format(M.show(path)), "path"
  elseif ("/" .. path .. "/"):find "/%.%.?/" then
    return ("must not hold '.' or '..' as a part: %s"):format(M.show(path)), "path"
  elseif #path > 255 then
    return "is longer than 255 bytes", "path"
  end
end

return M
