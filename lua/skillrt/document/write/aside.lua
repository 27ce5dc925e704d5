-- document/write/aside.lua: folders beside the real ones, in which everything is written first.
--
-- Their names are new each time; one that a killed process left behind is claimed by giving it a
-- new name, so that only one process handles it. Called by writer/commit.lua and writer/stage.lua.

local files = require("skillrt.base.files")
local place = require("skillrt.document.write.place")

local M = {}

local NAME = place.OWN .. "new-" -- and hex digits

---@class skillrt.writer.Change
---@field path string
---@field text string?    what is to lie there; nil: the file is to go
---@field before string?  the digest of what lies there now; nil: nothing

---A new staging folder's path; it is not made.
---@param dir string     the folder it lies in
---@param prefix string  what its name begins with
---@return string
function M.path(dir, prefix)
  return ("%s/%s%s%s"):format(dir, prefix, NAME, files.random_name())
end

local function is_aside(name, prefix)
  local rest = name:sub(1, #prefix + #NAME) == prefix .. NAME and name:sub(#prefix + #NAME + 1)
  return rest and rest:find("^%x+$") ~= nil
end

---The staging folders in a folder.
---@param dir string
---@param prefix string
---@return string[]|nil paths
---@return string? message
---@return string? code
function M.all(dir, prefix)
  local entries, message, code = files.list(dir)
  if not entries then
    return nil, message, code
  end
  local found = {}
  for _, entry in ipairs(entries) do
    if entry.kind == "directory" and is_aside(entry.name, prefix) then
      found[#found + 1] = dir .. "/" .. entry.name
    end
  end
  table.sort(found)
  return found
end

---Takes over what was left behind; nil where another process has.
---@param path string
---@param dir string
---@param prefix string
---@return string|nil path
function M.claim(path, dir, prefix)
  local mine = M.path(dir, prefix)
  return files.rename(path, mine) and mine
end

---Removes the staging folders in a folder that have no commit record to honour.
---@param dir string
---@param prefix string
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.clear(dir, prefix)
  local found, message, code = M.all(dir, prefix)
  if not found then
    return nil, message, code
  end
  for _, path in ipairs(found) do
    local mine = M.claim(path, dir, prefix)
    if mine then
      local ok, why, what = place.remove_tree(mine)
      if not ok then
        return nil, why, what
      end
    end
  end
  return true
end

---The error of a call that failed below a staging folder: another process may have claimed it.
---@param aside string
---@param message string
---@param code string
---@return nil, string, string
function M.failed(aside, message, code)
  if files.stat(aside) then
    return nil, message, code
  end
  return nil, message .. "; another skillrt generates here at the same time: run it again when that is done", "busy"
end

---Writes all texts below a staging folder.
---@param aside string
---@param folder string  in it, or itself
---@param changes skillrt.writer.Change[]
---@param progress fun(done: integer, total: integer)|nil
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.fill(aside, folder, changes, progress)
  local made = {}
  local ok, message, code = files.make_folders(folder)
  for i, change in ipairs(ok and changes or {}) do
    local path = folder .. "/" .. change.path
    local parent = files.dirname(path)
    if change.text and not made[parent] then
      ok, message, code = files.make_folders(parent)
      made[parent] = ok
    end
    if change.text and ok then
      ok, message, code = files.create(path, change.text)
    end
    if not ok then
      break
    elseif progress then
      progress(i, #changes)
    end
  end
  if not ok then
    return M.failed(aside, message --[[@as string]], code --[[@as string]])
  end
  return true
end

---A value that removes the staging folder when it goes out of scope, unless `keep` was set.
---@param aside string
---@return table to_be_closed
function M.guard(aside)
  return setmetatable({}, {
    __close = function(self)
      if not self.keep then
        place.remove_tree(aside)
      end
    end,
  })
end

return M
