-- document/load/guide.lua: what a skill's SKILL.md gives to every prompt of it: its body, the tools it allows, and
-- of a plain skill the files it may be read on with (three levels of disclosure).
--
-- Called by folder.lua.
local files = require "skillrt.base.files"

local M = {}

local MAX_RESOURCES <const> = 200

---@class skillrt.Guide
---@field body string?
---@field tools string[]?
---@field resources { path: string, size: integer }[]?  of a plain skill: its other files
---@field more integer?       files that are not listed
---@field is_plain boolean?   nothing but a page of instructions: it is given a task
---@field is_command boolean? a slash command: its arguments may be left out

-- Other skills in the folder and what nobody reads are no resources.
local function is_resource(path)
  return path ~= "SKILL.md" and not path:find "^%.[^/]" and not path:find "/%.[^/]" and not path:find "%.pyc$"
end

local function resources_of(tree)
  local list, more = {}, 0
  for _, path in ipairs(tree.paths) do
    if is_resource(path) and #list < MAX_RESOURCES then
      local info = files.stat(files.join(tree.dir, path))
      list[#list + 1] = { path = path, size = info and info.size or 0 }
    elseif is_resource(path) then
      more = more + 1
    end
  end
  return #list > 0 and list or nil, more > 0 and more or nil
end

---@param self table  of folder.lua: tree, skill_md, plain
---@return skillrt.Guide?
function M.of_folder(self)
  local md = self.skill_md
  if not md then
    return nil
  end
  local guide = { body = md.body, is_plain = self.plain }
  if #(md.allowed_tools or {}) > 0 then
    guide.tools = md.allowed_tools
  end
  if self.plain then
    guide.resources, guide.more = resources_of(self.tree)
  end
  return guide
end

return M
