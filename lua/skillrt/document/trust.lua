-- document/trust.lua: whether the code in a skill's folder may run: a skill.lua and its helpers are a stranger's
-- until a person has said once that they trust them, as they are now.
--
-- Remembered by digest in $XDG_STATE_HOME/skillrt/trusted or ~/.local/state/skillrt/trusted. A folder that skillrt
-- generated holds no code but ours; a script that is named itself is what its person wants to run. Asks nobody:
-- that is the command line's.

local files = require("skillrt.base.files")

local M = {}

local MAX_FILE <const> = 4 << 20
local MAX_FILES <const> = 500

---Where it is remembered; nil: there is no home.
---@return string?
function M.path()
  local base = os.getenv("XDG_STATE_HOME")
  if not base or base == "" then
    local home = os.getenv("HOME")
    base = home and home ~= "" and home .. "/.local/state" or nil
  end
  return base and base .. "/skillrt/trusted"
end

local function read(dir, name)
  return files.read(files.join(dir, name), MAX_FILE) or ""
end

-- The script that generated folders have, but for what is said in its comments: it reads the config and nothing else.
local OURS <const> = "local skillrt = require " .. '"skillrt" '
  .. 'local folder = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "." '
  .. 'return skillrt.from_config(folder .. "/skill-config.json", { folder = folder })'

local function is_ours(text)
  local code = {}
  for line in text:gmatch("[^\n]+") do
    if not line:find("^%s*%-%-") then
      code[#code + 1] = line
    elseif line:find("^%s*%-%-%[=*%[") then
      return false -- a comment over lines, which ours has not
    end
  end
  return (table.concat(code, " "):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) == OURS
end

-- What a text does beside deciding, as far as its words tell.
local SIGNS <const> = {
  { "agent%.command", "programs" }, { "kind%s*=%s*[\"']command", "programs" }, { "os%.execute", "a shell" },
  { "io%.popen", "a shell" }, { "agent%.http", "servers" }, { "kind%s*=%s*[\"']http", "servers" },
  { "io%.open", "files" }, { "os%.remove", "files" }, { "ctx%.write", "files" }, { "os%.getenv", "the environment" },
  { "loadlib", "libraries in C" },
}

local function signs_of(text)
  local list, seen = {}, {}
  for _, sign in ipairs(SIGNS) do
    if not seen[sign[2]] and text:find(sign[1]) then
      list[#list + 1], seen[sign[2]] = sign[2], true
    end
  end
  return list
end

---@class skillrt.Code  of a folder
---@field digest string
---@field files { name: string, lines: integer, signs: string[] }[]

---The code in a folder that would run; nil: there is none that is not ours.
---@param path string
---@return skillrt.Code?
function M.code(path)
  local dir = path:gsub("(.)/+$", "%1")
  if not files.is_folder(dir) or not files.stat(dir .. "/skill.lua") then
    return nil
  end
  local names = files.glob(dir, "**/*.lua") or {}
  if #names == 1 and is_ours(read(dir, "skill.lua")) then
    return nil
  end
  local list, parts = {}, {}
  for i, name in ipairs(names) do
    local text = i <= MAX_FILES and read(dir, name) or ""
    parts[#parts + 1] = ("%s %s"):format(name, files.digest(text))
    list[i] = { name = name, lines = select(2, text:gsub("\n", "")), signs = signs_of(text) }
  end
  return { digest = files.digest(table.concat(parts, "\n")), files = list }
end

---Whether this code was trusted before, as it is.
---@param code skillrt.Code
---@return boolean
function M.is_trusted(code)
  local path = M.path()
  local text = path and files.read(path, MAX_FILE) or ""
  return ("\n" .. text):find("\n" .. code.digest .. " ", 1, true) ~= nil
end

---Remembers that this code is trusted.
---@param code skillrt.Code
---@param folder string  for people who read the file
---@return boolean|nil ok
---@return string? message
function M.remember(code, folder)
  local path = M.path()
  if not path then
    return nil, "nobody's home: HOME is not set, so that it cannot be remembered"
  end
  local ok, message = files.make_folders(files.dirname(path))
  if not ok then
    return nil, message
  end
  local line = ("%s %s\n"):format(code.digest, (files.join(files.current(), folder):gsub("%c", "?")))
  return files.write(path, (files.read(path, MAX_FILE) or "") .. line)
end

---What it is, in lines for people.
---@param code skillrt.Code
---@return string[]
function M.lines(code)
  local out = {}
  for i, one in ipairs(code.files) do
    if i > 20 then
      out[i] = ("and %d more"):format(#code.files - 20)
      break
    end
    local signs = #one.signs > 0 and "uses " .. table.concat(one.signs, ", ") or "calls nothing that its words tell"
    out[i] = ("%s: %d lines, %s"):format(one.name, one.lines, signs)
  end
  return out
end

return M
