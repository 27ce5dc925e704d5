-- document/write/stage.lua: changes of a folder: all is written aside first, then put in place by renames.
--
-- A folder that is not there yet comes into being by one rename. In one that is there, the manifest is staged last
-- and put in place last: whoever is killed in between leaves a staging folder with the new manifest, by which the
-- next generation knows what of both is generated, and nobody runs the folder before that. Called by write/init.
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local place = require("skillrt.document.write.place")

local M = {}

local NAME = place.OWN .. "new-" -- and hex digits
local MANIFEST = place.OWN .. "generated.json"

---@class skillrt.writer.Change
---@field path string
---@field text string?    what is to lie there; nil: the file is to go
---@field before string?  the digest of what lies there now; nil: nothing

local function is_aside(name, prefix)
  local rest = name:sub(1, #prefix + #NAME) == prefix .. NAME and name:sub(#prefix + #NAME + 1)
  return rest and rest:find("^%x+$") ~= nil
end

-- The staging folders in a folder; nothing where it cannot be read.
local function all_asides(dir, prefix)
  local found = {}
  for _, entry in ipairs(files.list(dir) or {}) do
    if entry.kind == "directory" and is_aside(entry.name, prefix) then
      found[#found + 1] = dir .. "/" .. entry.name
    end
  end
  table.sort(found)
  return found
end

local function clear(dir, prefix)
  for _, path in ipairs(all_asides(dir, prefix)) do
    local ok, message, code = place.remove_tree(path)
    if not ok then
      return nil, message, code
    end
  end
  return true
end

---Removes what is left of interrupted changes of a folder.
---@param dir string
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.clear(dir)
  return clear(dir, "")
end

---Whether a change of a folder was interrupted after it began.
---@param dir string
---@return boolean
function M.is_unfinished(dir)
  for _, aside in ipairs(all_asides(dir, "")) do
    if files.stat(aside .. "/" .. MANIFEST) then
      return true
    end
  end
  return false
end

---The digests of what interrupted changes would have put into a folder, as sets by path.
---@param dir string
---@return table<string, table<string, boolean>>
function M.interrupted(dir)
  local known = {}
  for _, aside in ipairs(all_asides(dir, "")) do
    local text = files.read(aside .. "/" .. MANIFEST)
    local manifest = text and json.decode(text)
    for path, digest in pairs(type(manifest) == "table" and type(manifest.files) == "table" and manifest.files or {}) do
      known[path] = known[path] or {}
      known[path][digest] = true
    end
  end
  return known
end

-- Removes a staging folder when it goes out of scope, unless `keep` was set.
local function guard(aside)
  return setmetatable({}, {
    __close = function(self)
      if not self.keep then
        place.remove_tree(aside)
      end
    end,
  })
end

local function failed(aside, message, code)
  if files.stat(aside) then
    return nil, message, code
  end
  return nil, message .. "; another skillrt generates here at the same time: run it again when that is done", "busy"
end

local function fill(aside, changes, progress)
  local made = {}
  local ok, message, code = files.make_folders(aside)
  for i, change in ipairs(ok and changes or {}) do
    local path = aside .. "/" .. change.path
    local parent = files.dirname(path)
    if change.text and not made[parent] then
      ok, message, code = files.make_folders(parent)
      made[parent] = ok
    end
    if change.text and ok then
      ok, message, code = files.create(path, change.text)
    end
    if not ok then
      return failed(aside, message, code)
    elseif progress then
      progress(i, #changes)
    end
  end
  return ok, message, code
end

-- "a/b" -> "a", "b": what is staged lies beside it, on the same disk.
local function split(dir)
  local parent, name = dir:match("^(.*)/([^/]+)$")
  if not parent then
    return ".", dir
  end
  return parent == "" and "/" or parent, name
end

---A new folder with these files, by one rename.
---@param dir string  nothing lies there
---@param changes skillrt.writer.Change[]
---@param progress fun(done: number, total: integer)|nil
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.create(dir, changes, progress)
  local parent, name = split(dir)
  local prefix = "." .. name
  local ok, message, code = files.make_folders(parent)
  if ok then
    ok, message, code = clear(parent, prefix)
  end
  if not ok then
    return nil, message, code
  end
  local aside = ("%s/%s%s%s"):format(parent, prefix, NAME, files.random_name())
  local staged <close> = guard(aside)
  ok, message, code = fill(aside, changes, progress)
  if ok then
    ok, message, code = files.rename(aside, dir)
    staged.keep = ok
  end
  if not ok then
    return failed(aside, message, code)
  end
  return true
end

-- Folders that the removal of a file left empty go too.
local function remove(dir, path)
  local ok, message, code = files.remove(dir .. "/" .. path)
  local folder = path:match("^(.*)/[^/]*$")
  while ok and folder and files.remove(dir .. "/" .. folder) do
    folder = folder:match("^(.*)/[^/]*$")
  end
  return ok, message, code
end

-- One change; "left" where something else lies there than was planned for.
local function make(dir, aside, change)
  local target, now = dir .. "/" .. change.path, nil
  local kind, message, code = place.look(dir, change.path, {})
  if kind == "file" then
    now, message, code = files.read(target)
    now = now and files.digest(now)
  end
  if code then
    return nil, message, code
  elseif now ~= change.before or (kind ~= "file" and kind ~= "absent") then
    return "left"
  elseif not change.text then
    return remove(dir, change.path)
  end
  local ok
  ok, message, code = files.make_folders(files.dirname(target))
  if ok then
    ok, message, code = files.rename(aside .. "/" .. change.path, target)
  end
  if not ok then
    return failed(aside, message, code)
  end
  return true
end

---Changes in a folder that is there; the manifest is the last of them.
---@param dir string
---@param changes skillrt.writer.Change[]
---@param progress fun(done: number, total: integer)|nil
---@return string[]|nil left  paths where something else lay than `before` says: not changed
---@return string? message
---@return string? code
function M.change(dir, changes, progress)
  local aside = ("%s/%s%s"):format(dir, NAME, files.random_name())
  local earlier = all_asides(dir, "")
  local staged <close> = guard(aside)
  local ok, message, code = fill(aside, changes, progress and function(done, total)
    progress(done / 2, total)
  end)
  if not ok then
    return nil, message, code
  end
  staged.keep = true -- from here on it says what is generated though the manifest does not
  local left = {}
  for i, change in ipairs(changes) do
    local done
    done, message, code = make(dir, aside, change)
    if not done then
      return nil, message .. "; generate again to finish", code
    elseif done == "left" then
      left[#left + 1] = change.path
    end
    if progress then
      progress((#changes + i) / 2, #changes)
    end
  end
  earlier[#earlier + 1] = aside
  for _, path in ipairs(earlier) do
    place.remove_tree(path)
  end
  return left
end

return M
