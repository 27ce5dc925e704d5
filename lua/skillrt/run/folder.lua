-- run/folder.lua: the folder of runs without a directory of their own: where they start, and where commands look for
-- them.
--
-- In a project, `runs` there, which git ignores; elsewhere a folder of the person's (XDG_STATE_HOME). Knows no run.
-- Called by runner.lua and cli/.

local files = require("skillrt.base.files")

local M = {}

local NAME <const> = "runs"

-- Any of these makes a folder a project.
local MARKS <const> = { ".git", ".hg", ".jj", ".claude", NAME, "SKILL.md", "skill.lua", "skill-config.json",
  "workflow.json" }

-- Set for folders that everybody may write to, such as /tmp: a file there may belong to any user.
local STICKY <const> = 0x200

local function is_marked(folder)
  for _, mark in ipairs(MARKS) do
    if files.stat(folder .. "/" .. mark) then
      return true
    end
  end
  return false
end

---The folder of runs. A project is the nearest folder, from the current one upwards, that has one of the marks; but
---neither the home folder, nor one that everybody may write to, nor a parent of these.
---@return string path  "runs", or an absolute path
function M.path()
  local current, home = files.current(), files.stat((os.getenv("HOME") or "") .. "/.")
  local at = current
  while at ~= "" do
    local info = files.stat(at .. "/.")
    if not info or info.mode & STICKY ~= 0 or home and home.id == info.id then
      break
    elseif is_marked(at) then
      return at == current and NAME or at .. "/" .. NAME
    end
    at = at:match("^(.*)/[^/]*$")
  end
  local state = files.state_home()
  return state and state .. "/" .. NAME or NAME
end

---Makes the folder, with a .gitignore, where a run is to start there. An error is reported when the run is opened.
---@param folder string  that of the run, absolute
function M.make(folder)
  if not files.stat(folder) and folder == files.join(files.current(), M.path()) and files.make_folders(folder) then
    files.create(folder .. "/.gitignore", "*\n")
  end
end

return M
