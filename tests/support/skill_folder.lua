-- skill_folder.lua: a skill's folder for one test, written from texts and removed when it closes;
-- documents for it, and what was read from it in few words.
--
-- Called by specs: local folder <close> = skill_folder.make { ["SKILL.md"] = "..." }.
local load = require "skillrt.document.load"
local skill_of = require "skillrt.skill"

local M = {}

M.SKILL = "---\nname: demo-skill\ndescription: Reads and sorts.\n---\n# Demo\n"

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

---The document of an action.
---@param name string
---@param conditions string[]  its preconditions
---@param more string?  what follows them
function M.action(name, conditions, more)
  local lines = { "# Action: " .. name, "", "Does " .. name .. ".", "", "## Preconditions", "" }
  for _, one in ipairs(conditions) do
    lines[#lines + 1] = "- [ ] " .. one
  end
  return table.concat(lines, "\n") .. "\n\n" .. (more or "")
end

---The skill of a folder that can be read, and what was found.
function M.loaded(folder, options)
  local skill, message, _, found = load.load(folder.dir, options)
  assert(skill_of.is(skill) and message == nil, message)
  return skill, found
end

---The conditions of an action as texts.
function M.when(one)
  local out = {}
  for i, condition in ipairs(one.when) do
    out[i] = condition.text
  end
  return out
end

---The ids of actions or phases.
function M.ids(list)
  local out = {}
  for i, one in ipairs(list) do
    out[i] = one.id
  end
  return out
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
