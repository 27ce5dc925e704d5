-- document/generate/fields.lua: reads the fields of a config: copies, defaults, kinds, safe ids and paths.
--
-- Knows kinds of values, not what a config means. Called by config and its parts.
local json = require "skillrt.base.json"
local names = require "skillrt.base.names"

local M = {}

local MAX_DEPTH = 64
local MAX_SHOWN = 60

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

---The keys of a table as sorted texts.
---@param object table
---@return string[]
function M.sorted_keys(object)
  local keys = {}
  for key in pairs(object) do
    keys[#keys + 1] = tostring(key)
  end
  table.sort(keys)
  return keys
end

---The object at a key, made when it is missing; what is something else is an error.
---@return table
function M.object(parent, key, where, found)
  local value = parent[key]
  if value == nil then
    parent[key] = {}
  elseif type(value) ~= "table" or json.is_array(value) then
    found:error("type", where .. key, "must be an object, not %s", M.show(value))
    parent[key] = {}
  end
  return parent[key]
end

---The list at a key, made when it is missing; what is something else is an error. An empty object
---is an empty list: Lua's {} has no kind, and writers without lists have no other way to say it.
---@return any[]
function M.list(parent, key, where, found)
  local value = parent[key]
  if value == nil or (type(value) == "table" and next(value) == nil) then
    value = {}
  elseif type(value) ~= "table" or not json.is_array(value) then
    found:error("type", where .. key, "must be a list, not %s", M.show(value))
    value = {}
  end
  parent[key] = json.array(value)
  return parent[key]
end

---A list of texts; a single text is a list of one.
---@return string[]
function M.texts(parent, key, where, found)
  if type(parent[key]) == "string" then
    parent[key] = { parent[key] }
  end
  local list = M.list(parent, key, where, found)
  for i, item in ipairs(list) do
    if type(item) ~= "string" then
      found:error("type", ("%s%s[%d]"):format(where, key, i), "must be a text, not %s", M.show(item))
      list[i] = ""
    end
  end
  return list
end

---Checks a text that may be missing unless `required`.
---@param options { required: boolean? }
function M.text(parent, key, where, found, options)
  local value = parent[key]
  if value == nil then
    if options.required then
      found:error("missing", where .. key, "is missing: give a text")
    end
  elseif type(value) ~= "string" then
    found:error("type", where .. key, "must be a text, not %s", M.show(value))
  elseif options.required and not value:find "%S" then
    found:error("missing", where .. key, "is empty: give a text")
  end
end

---Checks a number that may be missing: finite, not below zero.
function M.number(parent, key, where, found)
  local value = parent[key]
  if value ~= nil and (type(value) ~= "number" or value ~= value or value < 0 or value == math.huge) then
    found:error("type", where .. key, "must be a number from 0 on, not %s", M.show(value))
  end
end

---Checks an id: letters, digits, ".", "_", "-"; nothing that leaves a folder (F13).
---@return boolean
function M.id(parent, key, where, found)
  local id = parent[key]
  if type(id) ~= "string" then
    local what = id == nil and "is missing: give an id" or "must be a text, not " .. M.show(id)
    found:error(id == nil and "missing" or "type", where .. key, "%s", what)
    return false
  elseif #id > names.MAX_ID then
    found:error("id", where .. key, "must have at most %d characters, not %d", names.MAX_ID, #id)
    return false
  elseif not id:find "^[A-Za-z0-9][A-Za-z0-9._-]*$" or id:find("..", 1, true) then
    local message = "must be letters, digits, '.', '_' and '-', begin with a letter or digit and hold no '..', not %s"
    found:error("id", where .. key, message, M.show(id))
    return false
  end
  return true
end

---Ids that differ only in "-", "." and "_" would become one name in documents and the context.
---@param ids table<string, any> the ids by themselves
---@param key string
function M.check_mapped(ids, key, found)
  local mapped = {}
  for _, id in ipairs(M.sorted_keys(ids)) do
    local name = id:gsub("[^%w_]", "_")
    if mapped[name] then
      found:error("duplicate-id", key, "%s and %s both become %s in names: rename one", mapped[name], id, name)
    end
    mapped[name] = id
  end
end

---Checks a path that must stay below the folder it is relative to (F13).
---@return boolean
function M.path(parent, key, where, found)
  local path = parent[key]
  local problem
  if type(path) ~= "string" or path == "" then
    problem = "must be a path, not " .. M.show(path)
  elseif path:find "[%c\\`\"'$<>|*?:]" then
    problem = ("holds a character that files cannot have everywhere (\\ ` \" ' $ < > | * ? :): %s"):format(M.show(path))
  elseif path:sub(1, 1) == "/" or path:sub(-1) == "/" or path:find("//", 1, true) then
    problem = ("must name a file relative to its folder, not %s"):format(M.show(path))
  elseif ("/" .. path .. "/"):find "/%.%.?/" then
    problem = ("must not hold '.' or '..' as a part: %s"):format(M.show(path))
  elseif #path > 255 then
    problem = "is longer than 255 bytes"
  end
  if problem then
    found:error("path", where .. key, "%s", problem)
  end
  return problem == nil
end

return M
