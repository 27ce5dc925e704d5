-- base/files.lua: reads and writes whole files through the core, so that tests can make every access fail.
--
-- Knows nothing of skills or runs. Errors are returned: nil, "path: what is wrong", code.

local core = require("skillrt.core")

local M = core.files -- read(path, maximum?, any_kind?) and the others: csrc/lua/bind_files.c

---The text of a file that is built into the program, such as "templates/en/skill.mustache".
---@type fun(name: string): string?
M.asset = core.asset

---The names of built-in files that begin with a text, in order.
---@type fun(prefix: string): string[]
M.assets = core.assets

---The SHA-256 of a text, in hex.
---@type fun(text: string): string
M.digest = core.sha256

---Part of a name that no other process uses: 8 hex digits.
---@return string
function M.random_name()
  return (core.uuid():sub(1, 8))
end

---@param path string
---@return boolean
function M.is_absolute(path)
  return path:sub(1, 1) == "/"
end

---The path of a folder without a slash at its end, which shells write; "/" remains.
---@param path string
---@return string
function M.bare(path)
  return (path:gsub("(.)/+$", "%1"))
end

---Whether a path is a folder, or a symbolic link to one.
---@param path string
---@return boolean
function M.is_folder(path)
  local info = M.stat(path)
  if info and info.kind == "link" then
    info = M.stat(path:gsub("/+$", "") .. "/.")
  end
  return info ~= nil and info.kind == "directory"
end

---Whether anybody but its owner may read or write a file.
---@param path string
---@return boolean
function M.is_open_to_others(path)
  local info = M.stat(path)
  return info ~= nil and info.mode & 0x3F ~= 0 -- 077
end

---Joins a base and a relative path, without "./" between them; an absolute second part is returned alone.
---@param base string
---@param path string
---@return string
function M.join(base, path)
  if M.is_absolute(path) or base == "" or base == "." then
    return path
  end
  return base:gsub("/%.$", ""):gsub("/+$", "") .. "/" .. path:gsub("^%./+", "")
end

---@param path string
---@return string folder  "." where the path has none
function M.dirname(path)
  local folder = path:match("^(.*)/[^/]*$")
  return folder == "" and "/" or folder or "."
end

---Whether a relative path stays inside its folder.
---@param path string
---@return boolean ok
---@return string? why
function M.is_confined(path)
  if path == "" then
    return false, "is empty"
  elseif path:find("\0", 1, true) then
    return false, "holds a NUL byte"
  elseif M.is_absolute(path) then
    return false, "is absolute; give a path relative to the folder"
  end
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      return false, 'holds ".."; it must stay inside its folder'
    end
  end
  return true
end

---@alias skillrt.Kept boolean|nil, string?, string?

---Writes a file of a run below a folder, completely or not at all; makes folders as needed and follows no link.
---Where `durable`, the file survives a power cut once this returns, as the record that names it will.
---@type fun(base: string, name: string, text: string, durable: boolean?, runs: boolean?): skillrt.Kept
M.keep = core.files.keep

---The same for a file that is not the run's: it keeps its mode, and others may read a new one.
---@type fun(base: string, name: string, text: string, durable: boolean?): skillrt.Kept
M.put = core.files.put

---The text of a regular file below a folder; follows no link.
---@type fun(base: string, name: string, maximum: integer?): string|nil, string?, string?
M.kept = core.files.kept

---The bytes of a regular file below a folder from an offset on, and its size; follows no link.
---@type fun(base: string, name: string, offset: integer, maximum: integer): string|nil, integer|string, string?
M.part = core.files.part

---Makes an existing file below a folder, and its name, survive a power cut.
---@type fun(base: string, name: string): skillrt.Kept
M.settle = core.files.settle

---Whether what the steps of a skill write must survive a power cut.
---@param skill skillrt.Skill
---@return boolean
function M.lasts(skill)
  return skill.durability == "power" and skill.context ~= "memory"
end

local function walk(base, folder, depth, found, visit)
  if depth > 64 then
    return nil, base .. "/" .. folder .. ": more than 64 folders deep", "limit"
  end
  local entries, message, code = M.list(folder == "" and base or M.join(base, folder))
  if not entries then
    return nil, message, code
  end
  table.sort(entries, function(a, b)
    return a.name < b.name
  end)
  for _, entry in ipairs(entries) do
    local name = folder == "" and entry.name or folder .. "/" .. entry.name
    if entry.kind == "directory" and entry.name ~= ".git" then
      local ok, why, cause = walk(base, name, depth + 1, found, visit)
      if not ok then
        return nil, why, cause
      end
    elseif entry.kind == "file" and visit(name) then
      found[#found + 1] = name
    end
  end
  return true
end

---The files below `base` that match, sorted, relative to `base`. Skips links and .git. wildcard.lua defines the
---patterns.
---@param base string
---@param pattern string
---@return string[]|nil files
---@return string? message
---@return string? code
function M.glob(base, pattern)
  local found = {}
  local ok, message, code = walk(base, "", 0, found, require("skillrt.base.wildcard").compile(pattern))
  if not ok then
    return nil, message, code
  end
  return found
end

---Removes a file, or a folder with everything in it; removes links without following them.
---@param path string
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.remove_tree(path)
  local info, message, code = M.stat(path)
  if not info then
    return code == "missing" or nil, message, code
  end
  for _, entry in ipairs(info.kind == "directory" and M.list(path) or {}) do
    local ok, why, what = M.remove_tree(path .. "/" .. entry.name)
    if not ok then
      return nil, why, what
    end
  end
  return M.remove(path)
end

---The path of a program, searched in PATH; nil: it is not there.
---@param program string
---@return string|nil path
function M.program(program)
  if program:find("/", 1, true) then
    return M.stat(program) and program or nil
  end
  for folder in (os.getenv("PATH") or ""):gmatch("[^:]+") do
    local path = M.join(folder, program)
    local info = M.stat(path)
    if info and info.kind ~= "directory" then
      return path
    end
  end
  return nil
end

---The plugin folder of a folder: the nearest folder upwards that has .claude-plugin/, else the one above skills/,
---commands/ or agents/, else the folder itself.
---@param dir string  absolute
---@return string
function M.plugin_folder(dir)
  local at, found = dir:gsub("/+$", ""), nil
  while at ~= "" do
    if M.is_folder(at .. "/.claude-plugin") then
      return at
    end
    local above, name = at:match("^(.*)/([^/]+)$")
    found = found or (name == "skills" or name == "commands" or name == "agents") and above or nil
    at = above or ""
  end
  return found or dir
end

---Where Claude Code keeps a person's settings, agents, plugins and sessions.
---@return string
function M.claude_home()
  local folder = os.getenv("CLAUDE_CONFIG_DIR")
  return folder and folder ~= "" and folder or M.join(os.getenv("HOME") or "", ".claude")
end

-- A folder of ours among a person's; a variable that is not absolute counts as unset, as XDG says.
local function home_of(variable, default)
  local base, home = os.getenv(variable), os.getenv("HOME")
  if base and M.is_absolute(base) then
    return base .. "/skillrt"
  end
  return home and home ~= "" and ("%s/%s/skillrt"):format(home, default) or nil
end

---Where programs keep a person's state; nil: there is no home folder.
---@return string?
function M.state_home()
  return home_of("XDG_STATE_HOME", ".local/state")
end

---Where programs keep a person's settings; nil: there is no home folder.
---@return string?
function M.config_home()
  return home_of("XDG_CONFIG_HOME", ".config")
end

return M
