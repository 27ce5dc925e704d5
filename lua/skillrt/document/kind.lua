-- document/kind.lua: what kind of thing lies at a path.
--
-- Reads nothing of it. Called by document/open.lua, document/gate.lua, document/trust.lua and
-- document/check/subject.lua.

local files = require("skillrt.base.files")

local M = {}

---What kind of thing lies at a path, for whoever runs, checks or shows it. A folder is a document, whatever it is
---called; a file is what its name says.
---@param path string
---@return "workflow"|"document"|"script" kind
function M.of(path)
  local is_there, is_folder = files.stat(path) ~= nil, files.is_folder(path)
  if is_there and not is_folder and path:find("%.m?[jt]s$") then
    return "workflow"
  end
  local by_name = path:find("%.[jm][sd]o?n?$") or path:find("%.ya?ml$")
  return is_there and (is_folder or by_name) and "document" or "script"
end

return M
