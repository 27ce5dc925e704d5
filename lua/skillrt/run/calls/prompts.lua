-- run/calls/prompts.lua: the words that were sent to agents, as files of the run for people: .prompts/STEP-PLACE.md,
-- the last attempt's. Nothing reads them; a run goes on without them.
--
-- Written when a call leaves. Knows files and calls. Called by calls.lua and report/status.lua.

local files = require("skillrt.base.files")
local secrets = require("skillrt.base.secrets")

local M = {}

---The folder below the run's.
M.FOLDER = ".prompts"

---@param run table    { skill, work_dir }
---@param call skillrt.Call
function M.keep(run, call)
  local text = call.request.prompt
  if text and run.skill.context ~= "memory" then
    files.keep(run.work_dir, ("%s/%d-%s.md"):format(M.FOLDER, call.step.number, call.place), secrets.clean(text))
  end
end

---How many there are.
---@param dir string
---@return integer
function M.count(dir)
  return #(files.list(files.join(dir, M.FOLDER)) or {})
end

return M
