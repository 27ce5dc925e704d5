-- base/seal.lua: whether this user began a run on this machine. Then what its first record names (a script, an agent,
-- a strategy) is their own choice; a directory that came from elsewhere may name anything.
--
-- A keyed digest with a key that only this user has: $XDG_STATE_HOME/skillrt/key, made with the first run. Knows no
-- runs. Used by runner.lua and travel.lua, which begin runs, and by cli/trust.lua.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")

local M = {}

local KEY_BYTES <const> = 64

-- The fields that decide whose code a resume executes.
local FIELDS <const> = { "run", "skill", "script", "folder", "agent", "strategy", "cwd" }

-- The key; nil: there is no home folder, or it cannot be written.
local function key(makes)
  local home = files.state_home()
  local path = home and home .. "/key"
  local text = path and files.read(path, KEY_BYTES)
  if text and #text == KEY_BYTES then
    return text
  elseif not (path and makes) or not files.make_folders(home) then
    return nil
  end
  text = files.digest(core.uuid() .. core.uuid() .. core.uuid())
  return files.write(path, text) and text or nil
end

-- What is sealed; or nil and what no record can hold: the path of a file, say, that is not UTF-8.
local function sealed(first)
  local fields = {}
  for _, field in ipairs(FIELDS) do
    fields[field] = first[field]
  end
  return json.encode(fields, { sorted = true, name = "record" })
end

local function seal_of(text, with)
  return files.digest(with .. files.digest(with .. text))
end

---The seal of a run that begins now.
---@param first table  its first record
---@return string|nil seal  nil: this machine remembers nothing
---@return string? problem  the record cannot be written
function M.of(first)
  local text, problem = sealed(first)
  local with = text and key(true)
  return with and seal_of(text, with) or nil, problem
end

---Whether this user began the run here.
---@param first table  its first record
---@return boolean
function M.is_ours(first)
  local with = first.seal and key(false)
  return with ~= nil and with ~= false and seal_of(sealed(first), with) == first.seal
end

return M
