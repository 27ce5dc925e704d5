-- document/several.lua: a folder that is no skill but contains some: which, and how to run one of them.
--
-- Reads the first level of disclosure only. Called if nothing at a path could be run.

local cut = require("skillrt.base.text").cut
local files = require("skillrt.base.files")

local M = {}

local MAX_SHOWN <const> = 40

---The message about a folder with several skills; nil: it contains none.
---@param path string
---@return string? message
function M.message(path)
  if not files.is_folder(path) or files.stat(files.join(path, "SKILL.md")) then
    return nil
  end
  local dir = files.bare(path)
  local list = require("skillrt.document.load.tree").open(dir, require("skillrt.document.findings").new()):skills()
  if #list == 0 then
    return nil
  end
  local lines = { ("%s: holds %s; name one: skillrt run %s -- TASK"):format(path,
    #list == 1 and "a skill" or #list .. " skills", files.join(dir, list[1])) }
  for i = 1, math.min(#list, MAX_SHOWN) do
    local summary = require("skillrt.document.load.skill_md").summary(files.join(dir, list[i])) or {}
    local text = cut((summary.description or ""):gsub("%s+", " "), 88)
    lines[i + 1] = ("%-24s %s"):format(list[i], text)
  end
  lines[#lines + 1] = #list > MAX_SHOWN and ("and %d more"):format(#list - MAX_SHOWN) or nil
  return table.concat(lines, "\n")
end

return M
