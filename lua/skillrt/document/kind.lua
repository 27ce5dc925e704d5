-- document/kind.lua: what kind of thing is at a path, and where named things are.
--
-- Reads nothing of it. Called by document/open.lua, document/gate.lua, document/trust.lua, document/check/subject.lua
-- and cli/init.lua.

local files = require("skillrt.base.files")

local M = {}

---The kind of thing at a path, for whoever runs, checks or shows it. A folder is a document, whatever its name; a
---file's kind follows from its name.
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

-- What Claude Code keeps by name, below .claude.
local KEPT <const> = { "workflows/%s.js", "workflows/%s.ts", "skills/%s", "commands/%s.md", "agents/%s.md" }

---The path of a workflow script, a skill, a command or an agent by its name: the project's, else the person's own.
---`/NAME` is the same, and `FOLDER:NAME` is in a folder.
---@param name string
---@return string|nil path
function M.kept(name)
  local words = name:gsub("^/", "")
  for part in (words .. ":"):gmatch("([^:]*):") do
    if not part:find("^%w[%w._-]*$") then
      return nil
    end
  end
  for _, home in ipairs({ ".claude", files.claude_home() }) do
    for _, form in ipairs(KEPT) do
      local path = files.join(home, form:format((words:gsub(":", "/"))))
      if files.stat(path) then
        return path
      end
    end
  end
end

---The names that `kept` finds, without those in folders.
---@return string[]
function M.names()
  local list = {}
  for _, home in ipairs({ ".claude", files.claude_home() }) do
    for _, form in ipairs(KEPT) do
      local folder, ending = form:match("^(%l+)/%%s(.*)$")
      for _, entry in ipairs(files.list(files.join(home, folder)) or {}) do
        list[#list + 1] = entry.name:match("^(.+)" .. ending:gsub("%.", "%%.") .. "$")
      end
    end
  end
  return list
end

return M
