-- templates.lua: finds the text of a template: the caller's own first, then ours.
--
-- Ours lie beside the Lua files: templates/<lang>/<name>.mustache in the tree, below skillrt/
-- when installed, inside the program when embedded. Called by generate only.
local M = {}

local LANGUAGES = { en = true, zh = true }

---@param lang string
---@return boolean
function M.has_language(lang)
  return LANGUAGES[lang] == true
end

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a" or nil
end

-- What travels inside the program is asked for through skillrt.files, which sees the core.
local function embedded(name)
  local ok, files = pcall(require, "skillrt.files")
  local asset = ok and files.asset
  return asset and asset("templates/" .. name) or nil
end

local function installed(name)
  local here = package.searchpath("skillrt.generate", package.path)
  if not here then
    return nil
  end
  local lua = here:match "^(.*)skillrt/generate%.lua$" or "./"
  return read(lua .. "skillrt/templates/" .. name) or read(lua .. "../templates/" .. name)
end

---A function that gives the text of a template by its name, or nil.
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
      text = read(own .. "/" .. lang .. "/" .. file) or read(own .. "/" .. file)
    end
    text = text or embedded(lang .. "/" .. file) or installed(lang .. "/" .. file)
    cache[name] = text or false
    return text
  end
end

return M
