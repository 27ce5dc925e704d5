-- document/load/references.lua: the files that a folder's documents refer to: those that must be read first
-- (Phase 0, F15), and those that are not there.
--
-- Looks whether files are there; reads none of them. Called by folder.lua.
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local tree_of = require "skillrt.document.load.tree"
local words = require "skillrt.document.load.words"

local M = {}

local function resolved(tree, file, link, found)
  local path, problem = tree_of.resolve(file, link.target)
  local place = { file = file, line = link.line }
  if problem then
    found:warn("reference-outside", place, problem, "nothing outside the folder is read", "copy it into the folder")
    return nil
  elseif path and not tree.kinds[path] and not path:find "[{}]" then
    local what = ("refers to %s, which is not in the folder"):format(names.show(path))
    found:warn("reference-missing", place, what, "whoever follows it finds nothing", "add the file or remove the link")
    return nil
  end
  return path
end

---Tells every link of the documents that leads nowhere.
---@param tree skillrt.load.Tree
---@param documents string[]  paths that have been read
---@param found skillrt.load.Findings
function M.check(tree, documents, found)
  local seen = {}
  for _, file in ipairs(documents) do
    local blocks = tree:has(file) and tree:document(file) or {}
    for _, link in ipairs(markdown.links(blocks)) do
      local key = file .. "\n" .. link.target
      if not seen[key] then
        seen[key] = true
        resolved(tree, file, link, found)
      end
    end
  end
end

---The documents SKILL.md demands to be read before anything else.
---@param tree skillrt.load.Tree
---@return { path: string, line: integer }[]
function M.mandatory(tree)
  local out, seen = {}, {}
  local blocks = tree:has "SKILL.md" and tree:document "SKILL.md"
  local section = blocks and markdown.section(blocks, words.MANDATORY)
  for _, link in ipairs(section and markdown.links(section) or {}) do
    local path = tree_of.resolve("SKILL.md", link.target)
    if path and not seen[path] and not path:find "^phases/" then
      seen[path] = true
      out[#out + 1] = { path = path, line = link.line }
    end
  end
  return out
end

return M
