-- base/secrets.lua: secrets by name (skillrt.secret), and removing them from everything that is recorded.
--
-- A secret comes from the environment, or from a file that only its owner may read. In what is recorded its text is
-- replaced by its name, and anything shaped like a well-known key by {key}. Pure but for reading these files.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")

local M = {}

---Whether this process has asked for a secret; else only the shapes of keys are searched, and only in text from
---outside.
M.active = false

local SHORTEST <const> = 8 -- bytes: anything shorter would be found in every other word

local known = {} -- { text, escaped as JSON has it, name }, the longest first

-- Prefixes of well-known keys, the characters that follow, and the minimal total length. A key has a digit, most
-- words have none.
local SHAPES <const> = {
  { "sk-", "[%w_-]+", 24 }, { "sk_live_", "[%w_]+", 20 }, { "rk_live_", "[%w_]+", 20 }, { "ghp_", "%w+", 36 },
  { "gho_", "%w+", 36 }, { "ghs_", "%w+", 36 }, { "ghu_", "%w+", 36 }, { "github_pat_", "[%w_]+", 40 },
  { "glpat-", "[%w_-]+", 20 }, { "xoxb-", "[%w-]+", 24 }, { "xoxp-", "[%w-]+", 24 }, { "AKIA", "%w+", 20 },
  { "ASIA", "%w+", 20 }, { "AIza", "[%w_-]+", 35 }, { "hf_", "%w+", 30 }, { "npm_", "%w+", 36 },
  { "eyJ", "[%w_-]+%.[%w_-]+%.[%w_-]+", 40 },
}
local PRIVATE <const> = "PRIVATE KEY-----"

-- Returns a function that tells whether a text holds the prefix of a key or, in JSON, a known secret.
local function suspicion()
  local words = { PRIVATE }
  for _, shape in ipairs(SHAPES) do
    words[#words + 1] = shape[1]
  end
  for _, one in ipairs(known) do
    words[#words + 1] = one.escaped
  end
  return core.finder(words)
end

---Whether JSON may hold something to remove: fast, with rare false alarms.
---@type fun(payload: string): boolean
M.suspects = suspicion()

-- A private key, from its first line to its last, or to the end where that is missing.
local function without_private(text)
  local out, at = {}, 1
  while true do
    local first, last = text:find("-----BEGIN [%u ]*" .. PRIVATE:gsub("%-", "%%-"), at)
    if not first then
      break
    end
    local ending = text:find("-----END ", last, true)
    local stop = ending and select(2, text:find(PRIVATE, ending, true)) or #text
    out[#out + 1] = text:sub(at, first - 1) .. "{key}"
    at = stop + 1
  end
  return table.concat(out) .. text:sub(at)
end

---A text without secrets.
---@param text string
---@return string
function M.clean(text)
  for _, one in ipairs(known) do
    if text:find(one.text, 1, true) then
      text = text:gsub(one.pattern, one.instead)
    end
  end
  for _, shape in ipairs(SHAPES) do
    if text:find(shape[1], 1, true) then
      text = text:gsub("%f[%w_-]" .. shape[1]:gsub("%p", "%%%0") .. shape[2], function(found)
        return #found >= shape[3] and found:find("%d") and "{key}" or nil
      end)
    end
  end
  return text:find(PRIVATE, 1, true) and without_private(text) or text
end

local function cleaned(value, depth)
  if type(value) == "string" then
    return M.clean(value)
  elseif type(value) ~= "table" or depth > 100 then
    return value
  end
  local copy = {}
  for key, inner in pairs(value) do
    copy[type(key) == "string" and M.clean(key) or key] = cleaned(inner, depth + 1)
  end
  return json.is_array(value) and json.array(copy) or copy
end

---Removes secrets from a record that is about to be written; the caller continues with the recorded form.
---@param entry table  changed
function M.take_out(entry)
  for key, value in pairs(entry) do
    if key ~= "t" then
      entry[key] = cleaned(value, 1)
    end
  end
end

-- The text of a secret; nil and what is wrong.
local function find(name)
  local text = os.getenv(name)
  if text and text ~= "" then
    return text
  end
  local home = files.config_home()
  local path = home and files.join(home .. "/secrets", name)
  if not path or not core.files.stat(path) then
    return nil, ("%s: is not set in the environment, and there is no file %s"):format(name, path or "of it")
  elseif files.is_open_to_others(path) then
    return nil, ("%s: can be read by others; chmod 600 it"):format(path)
  end
  local message
  text, message = files.read(path, 65536)
  return text and (text:gsub("%s+$", "")), message
end

---A secret by its name: an environment variable, else a file of that name in ~/.config/skillrt/secrets.
---@param name string
---@return string
function M.get(name)
  if type(name) ~= "string" or not name:find("^[%a_][%w_.-]*$") then
    error("skillrt.secret: the name must be letters, digits, '_', '.' and '-'", 2)
  end
  local text, message = find(name)
  if not text then
    error("skillrt.secret: " .. message, 2)
  elseif #text < SHORTEST then
    error(("skillrt.secret: %s: has %d bytes; a secret needs at least %d"):format(name, #text,
      SHORTEST), 2)
  end
  for _, one in ipairs(known) do
    if one.text == text then
      return text
    end
  end
  local escaped = assert(json.encode(text))
  known[#known + 1] = { text = text, escaped = escaped:sub(2, -2), pattern = text:gsub("%W", "%%%0"),
    instead = ("{secret %s}"):format(name):gsub("%%", "%%%%") }
  table.sort(known, function(a, b)
    return #a.text > #b.text
  end)
  M.active, M.suspects = true, suspicion()
  return text
end

---Whether a text holds a secret that this process asked for.
---@param text string
---@return boolean
function M.holds(text)
  for _, one in ipairs(known) do
    if text:find(one.text, 1, true) then
      return true
    end
  end
  return false
end

return M
