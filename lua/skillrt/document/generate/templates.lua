-- document/generate/templates.lua: finds the text of a template: the caller's own first, then ours, built into the
-- program as templates/<lang>/<name>.mustache, code as templates/code/<name>.mustache. Called by generate only.
local files = require "skillrt.base.files"

local M = {}

local LANGUAGES = { en = true, zh = true }

---@param lang string
---@return boolean
function M.has_language(lang)
  return LANGUAGES[lang] == true
end

local MAX_TEMPLATE = 1 << 20

-- A template in the caller's folder; nil: there is none; an error if it cannot be read.
local function read(path)
  if not files.stat(path) then
    return nil
  end
  local text, message = files.read(path, MAX_TEMPLATE)
  if not text then
    error({ message = message }, 0)
  end
  return text
end

---A function that returns the text of a template by its name, or nil.
---@param lang "en"|"zh"
---@param own nil|string|fun(name: string, lang: string): string? a folder or a function of the caller
---@return fun(name: string): string?, boolean?
function M.finder(lang, own)
  local cache = {}
  return function(name)
    if cache[name] ~= nil then
      return cache[name] or nil
    end
    local file = name .. ".mustache"
    local text
    if type(own) == "function" then
      text = own(name, lang)
    elseif type(own) == "string" then
      text = read(own .. "/" .. lang .. "/" .. file) or read(own .. "/" .. file) or read(own .. "/code/" .. file)
    end
    for _, folder in ipairs { lang, "code" } do -- code is the same in every language
      text = text or files.asset(("templates/%s/%s"):format(folder, file))
    end
    cache[name] = text or false
    return text
  end
end

return M
