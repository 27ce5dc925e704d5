-- skill_folder.lua: a skill's folder for one test, written from texts and removed when it closes.
--
-- Called by specs: local folder <close> = skill_folder.make { ["SKILL.md"] = "..." }.
local M = {}

local Folder = {}
Folder.__index = Folder

local function run(command, ...)
  local words = { command }
  for _, word in ipairs { ... } do
    words[#words + 1] = "'" .. word:gsub("'", "'\\''") .. "'"
  end
  assert(os.execute(table.concat(words, " ")))
end

function Folder:write(path, text)
  local full = self.dir .. "/" .. path
  run("mkdir -p", full:match "^(.*)/")
  local file <close> = assert(io.open(full, "wb"))
  assert(file:write(text))
end

function Folder:link(path, target)
  run("ln -s", target, self.dir .. "/" .. path)
end

function Folder:__close()
  run("rm -rf", self.base)
end

---@param files table<string, string>
---@param name string?  of the folder, default "demo-skill"
function M.make(files, name)
  local base = os.tmpname()
  os.remove(base)
  local folder = setmetatable({ base = base, dir = base .. "/" .. (name or "demo-skill") }, Folder)
  run("mkdir -p", folder.dir)
  for path, text in pairs(files) do
    folder:write(path, text)
  end
  return folder
end

---The findings of a list with this code, as "file:line".
---@param found skillrt.load.Finding[]
---@param code string
---@return string[]
function M.places(found, code)
  local out = {}
  for _, one in ipairs(found) do
    if one.code == code then
      out[#out + 1] = one.line and ("%s:%d"):format(one.file, one.line) or one.file
    end
  end
  return out
end

return M
