-- base/system.lua: loads modules that are not ours (lpeg, yaml, cjson) from the system's paths.
--
-- Lua's own search ends in the current folder, which may hold untrusted files: relative paths are skipped.

local M = {}

---`require` with other search paths; returns what pcall returns.
---@param path string
---@param cpath string
---@param name string
---@return boolean ok
---@return any value_or_message
---@return any where
function M.from(path, cpath, name)
  local own_path, own_cpath = package.path, package.cpath
  package.path, package.cpath = path, cpath
  local ok, value, where = pcall(require, name)
  package.path, package.cpath = own_path, own_cpath
  return ok, value, where
end

local function absolute(places)
  local kept = {}
  for place in places:gmatch("[^;]+") do
    kept[#kept + 1] = place:sub(1, 1) == "/" and place or nil
  end
  return table.concat(kept, ";")
end

---`require` for modules that are not ours. Raises if the system has none.
---@param name string
---@return any
function M.require(name)
  local ok, value, where = M.from(absolute(package.path), absolute(package.cpath), name)
  if not ok then
    local text = "skillrt needs the Lua module %s: install lua-%s (Debian) or %s (LuaRocks)\n%s"
    error(text:format(name, name, name, value), 0)
  end
  return value, where
end

return M
