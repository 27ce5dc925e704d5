-- document/write/place.lua: where a file may be written: below one folder and nowhere else.
--
-- Looks at every part of a path without following links, so that nothing leads out of the folder. Changes nothing.

local files = require("skillrt.base.files")

local M = {}

---What our own files and folders inside a generated folder begin with.
M.OWN = ".skillrt-"

---Whether a generated path is one that may be written at all.
---@param path string
---@return boolean ok
---@return string? why  ends a sentence that begins with the path
function M.is_safe(path)
  local ok, why = files.is_confined(path)
  if not ok then
    return false, why
  elseif path:find("%c") then
    return false, "holds a control character"
  end
  for part in (path .. "/"):gmatch("([^/]*)/") do
    if part == "" or part == "." then
      return false, 'holds an empty part or "."; write it as folder/file'
    elseif part:sub(1, #M.OWN) == M.OWN then
      return false, ("holds a name that begins with %s; these are skillrt's own"):format(M.OWN)
    end
  end
  return true
end

---What lies at a path: nil where there is nothing.
---@param path string
---@return "file"|"directory"|"link"|"other"|nil kind
---@return string? message
---@return string? code  of an error other than that nothing is there
function M.kind(path)
  local info, message, code = files.stat(path)
  if info then
    return info.kind
  elseif code == "missing" then
    return nil
  end
  return nil, message, code
end

local function check_folder(dir, folder, known)
  if known[folder] == nil then
    local path = dir .. "/" .. folder
    local kind, message, code = M.kind(path)
    if code then
      return nil, message, code
    elseif kind == "link" then
      return nil, path .. ": is a link, and what lies behind it may be elsewhere; replace it by a folder", "invalid"
    elseif kind and kind ~= "directory" then
      return nil, path .. ": is no folder, and a file has to go into it; move it away", "invalid"
    end
    known[folder] = kind or false
  end
  return true
end

---What lies at `path` below `dir`, after every folder on the way was found to be one, or absent.
---@param dir string
---@param path string    safe, see is_safe
---@param known table    folders already looked at; {} looks at all
---@return "file"|"directory"|"link"|"other"|"absent"|nil kind
---@return string? message
---@return string? code
function M.look(dir, path, known)
  for at in path:gmatch("()/") do
    local folder = path:sub(1, at - 1)
    local ok, message, code = check_folder(dir, folder, known)
    if not ok then
      return nil, message, code
    elseif known[folder] == false then
      return "absent"
    end
  end
  local kind, message, code = M.kind(dir .. "/" .. path)
  if code then
    return nil, message, code
  end
  return kind or "absent"
end

---Removes a file or a folder with all in it; links are removed, not followed.
---@param path string
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.remove_tree(path)
  local kind, message, code = M.kind(path)
  if code then
    return nil, message, code
  elseif kind == "directory" then
    local entries
    entries, message, code = files.list(path)
    if not entries then
      return nil, message, code
    end
    for _, entry in ipairs(entries) do
      local ok, why, what = M.remove_tree(path .. "/" .. entry.name)
      if not ok then
        return nil, why, what
      end
    end
  end
  if kind then
    return files.remove(path)
  end
  return true
end

return M
