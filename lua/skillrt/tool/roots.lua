-- tool/roots.lua: the folders of tools for files, as declared, and paths that stay below one of them.
--
-- The core opens paths step by step below the root's folder, following no link, so that nothing can be replaced
-- between a check and a use. Knows files, no tools.

local files = require("skillrt.base.files")
local names = require("skillrt.base.names")

local M = {}

---@class skillrt.Root
---@field path string     of a folder
---@field write boolean?  files below it may be written

---@class skillrt.Place
---@field root skillrt.Root
---@field name string   below it; ".": itself
---@field shown string  as it was asked for

local function below(base, path)
  if path == base or path == base .. "/" then
    return "."
  elseif path:sub(1, #base + 1) == base .. "/" then
    return path:sub(#base + 2)
  end
end

-- A path without "." and doubled slashes: one file has one spelling, and so belongs to one root.
local function normal(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    parts[#parts + 1] = part ~= "." and part or nil
  end
  return (files.is_absolute(path) and "/" or "") .. table.concat(parts, "/")
end

-- The root that contains a path, and the path below it: of several the innermost; a relative one in the first.
local function placed(roots, path)
  local best, name, longest
  path = files.is_absolute(path) and normal(path) or path
  for _, root in ipairs(roots) do
    local base = normal(root.path)
    local rest = below(base, path)
    if rest and (not best or #base > longest) then
      best, name, longest = root, rest, #base
    end
  end
  if best then
    return best, name
  elseif files.is_absolute(path) then
    return nil, "is outside the folders that this tool may use: " .. M.list(roots)
  end
  return roots[1], path
end

---The folders, for people and models.
---@param roots skillrt.Root[]
---@return string
function M.list(roots)
  local out, seen = {}, {} -- those that may be written come first
  for _, root in ipairs(roots) do
    out[#out + 1] = not seen[root.path] and root.path .. (root.write and " (may be written)" or "") or nil
    seen[root.path] = true
  end
  return table.concat(out, ", ")
end

---The place of a path that a model gave.
---@param roots skillrt.Root[]
---@param path string
---@param write boolean?  it is to be written
---@return skillrt.Place|nil place
---@return string? message
function M.place(roots, path, write)
  if path:find("\0", 1, true) then
    return nil, "the path holds a NUL byte"
  elseif not roots[1] then
    return nil, "no folder is declared for this tool"
  end
  local from = path
  if roots.base and not files.is_absolute(path) then
    local problem = path ~= "." and path ~= "./" and select(2, names.confined((path:gsub("/+$", ""))))
    if problem then
      return nil, ("%s: the path %s"):format(path, problem)
    end
    from = files.join(roots.base, (path:gsub("^%./+", ""):gsub("/+$", "")))
    from = (path == "." or path == "./") and roots.base or from
  end
  local root, name = placed(roots, from)
  if not root then
    return nil, ("%s %s"):format(path, name)
  elseif write and not root.write then
    return nil, ("%s: nothing may be written below %s"):format(path, root.path)
  end
  name = name:gsub("/+$", "")
  if name ~= "." and name ~= "" then
    local problem
    name, problem = names.confined(name)
    if not name then
      return nil, ("%s: the path %s"):format(path, problem)
    end
  end
  return { root = root, name = name == "" and "." or name, shown = path }
end

local FIELDS <const> = { read = { type = "text", list = true, default = {} },
  write = { type = "text", list = true, default = {} } }

---The field of a tool, or of a skill, that declares its folders.
M.FIELD = { fields = FIELDS }

---A declared folder with the task's placeholders filled in; absolute.
---@param text string
---@param task table
---@return string|nil path
---@return string? message
function M.folder(text, task)
  local own = { dir = task.dir, work_dir = task.store:path(), project = task.project_dir }
  local problem
  local path = text:gsub("{([%w_.]+)}", function(name)
    local field = name:match("^input%.([%w_]+)$")
    local value = own[name] or field and type(task.input) == "table" and task.input[field]
    problem = problem or type(value) ~= "string" and ("the folder %s: {%s} has no value"):format(text, name) or nil
    return type(value) == "string" and value or ""
  end)
  if problem then
    return nil, problem
  end
  local base = task.project_dir or files.current()
  path = files.join(base, path == "." and base or path)
  return files.is_absolute(path) and path or files.join(files.current(), path)
end

local function absolute(path)
  return files.is_absolute(path) and path or files.join(files.current(), path)
end

-- The folders if none are declared: the skill's, and the run's, which may be written.
local function own_roots(task)
  local dir = absolute(task.dir)
  return { base = dir, { path = dir }, { path = absolute(task.store:path()), write = true } }
end

---The folders of a tool in a task. With declared ones, these and the run's own, which may then only be read.
---@param declared { read: string[], write: string[] }?
---@param task skillrt.Task
---@return skillrt.Root[]|nil roots  with `base`: where relative paths start
---@return string? message
function M.of(declared, task)
  if not declared or not (declared.read[1] or declared.write[1]) then
    return own_roots(task)
  end
  local roots = { base = M.folder(".", task) }
  for _, list in ipairs({ declared.write, declared.read }) do
    for _, text in ipairs(list) do
      local path, message = M.folder(text, task)
      if not path then
        return nil, message
      end
      roots[#roots + 1] = { path = path, write = list == declared.write or nil }
    end
  end
  roots[#roots + 1] = { path = absolute(task.store:path()) }
  return roots
end

---The file at a place; follows no link.
---@param place skillrt.Place
---@return table|nil info  { kind, size }
---@return string? message
---@return string? code
function M.stat(place)
  return files.stat(place.root.path, place.name)
end

---@param place skillrt.Place
---@return { name: string, kind: string }[]|nil entries  sorted
---@return string? message
function M.entries(place)
  local entries, message = files.list(place.root.path, place.name)
  if entries then
    table.sort(entries, function(a, b) return a.name < b.name end)
  end
  return entries, message
end

---@param place skillrt.Place
---@param most integer  bytes
---@return string|nil text
---@return string? message
---@return string? code
function M.read(place, most)
  return files.kept(place.root.path, place.name, most)
end

---@param place skillrt.Place
---@param offset integer
---@param most integer  bytes
---@return string|nil text
---@return integer|string size  or a message
function M.part(place, offset, most)
  return files.part(place.root.path, place.name, offset, most)
end

---The entries of a folder.
---@param place skillrt.Place
---@param name string
---@return skillrt.Place
function M.inside(place, name)
  local at = place.name == "." and name or place.name .. "/" .. name
  return { root = place.root, name = at, shown = files.join(place.shown, name) }
end

return M
