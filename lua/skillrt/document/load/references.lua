-- document/load/references.lua: the files that a folder's documents refer to: those that must be read first
-- (Phase 0, F15), and those that are not there: links, code spans, commands.
--
-- Looks whether files are there; reads none of them. A path that is written, matched or filled in is
-- no reference. Called by folder.lua.
local files = require "skillrt.base.files"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local passages = require "skillrt.document.load.passages"
local tree_of = require "skillrt.document.load.tree"
local words = require "skillrt.document.load.words"
local tables = require "skillrt.base.tables"

local M = {}

-- What a missing path may have meant: a file of the same folder, or of the same name.
local function near(tree, path)
  local folder, name = path:match "^(.*/)([^/]*)$"
  local siblings = {}
  for _, other in ipairs(tree.paths) do
    local base = other:match "[^/]*$"
    if folder and other == folder .. base then
      siblings[#siblings + 1] = base:match "^(.+)%." or base
      siblings[siblings[#siblings]] = other
    elseif base == (name or path) then
      return other
    end
  end
  return siblings[names.nearest(name and (name:match "^(.+)%." or name) or path, siblings)]
end

local function tell_missing(tree, path, place, found)
  local other = near(tree, path)
  local what = ("refers to %s, which is not in the folder%s"):format(names.show(path),
    other and (" (did you mean %s?)"):format(other) or "")
  found:warn("reference-missing", place, what, "an agent finds nothing there", "add the file or remove the link")
end

-- "[0,2,4](MON/WED/FRI)" is no link: a file has an ending, a folder a slash behind it.
local function is_path(target)
  local plain = target:gsub("[#?].*$", "")
  if plain:find("...", 1, true) or plain:find "^%.%w" then -- left open, or hidden: where something works
    return false
  end
  return plain:find("%.%w+$") ~= nil or plain:sub(-1) == "/"
end

local function resolved(tree, file, link, found, tell)
  local path, problem = tree_of.resolve(file, link.target)
  local place = { file = file, line = link.line }
  if problem and link.target:find "%.%.%.$" then -- left open
    return nil
  elseif problem then
    local there = files.stat(files.join(tree.dir, files.dirname(file) .. "/" .. link.target:gsub("[#?].*$", "")))
    if not there then -- an agent that is given the other skill, too, follows it
      found:warn("reference-outside", place, problem, "nothing outside the folder is read", "copy it into the folder")
    end
    return nil
  elseif path and not tree.kinds[path] and not path:find "[{}<>*$]" and is_path(link.target) then
    tell(path, place)
    return nil
  end
  return path
end

-- Folders of a skill with files that its documents refer to; what is written goes elsewhere.
local FOLDERS = { "scripts", "references", "reference", "assets", "templates", "specs", "phases", "resources", "roles" }

-- A path below an existing folder of the skill, to a missing file: its name is probably misspelt.
local function missing_path(tree, text)
  local path = text:gsub("[#?:].*$", ""):gsub("^%./", "")
  local folder = path:match "^(%w+)/"
  for _, known in ipairs(FOLDERS) do
    if folder == known then
      local plain = path:find "^[%w_./-]+%.%w+$" and not path:find "%.%./" and not path:find "NN"
        and not path:find "XX" and not path:find "xxx" and not path:find "%f[%w]%dN%f[%W]"
        and not path:find "%.%.%."
      return plain and tree.kinds[folder] and not tree.kinds[path] and path or nil
    end
  end
end

local RUNNERS = tables.words "python python3 node bash sh ruby lua uv npx deno perl"

-- `python scripts/x.py --flag`, `./scripts/x.sh`: the program of a command line.
local function program_of(line)
  local first, rest = line:match "^%s*[$]?%s*(%S+)%s*(.*)$"
  if first and RUNNERS[first] then
    first = rest:gsub("^run%s+", ""):match "^([^%s-]%S*)"
  end
  return first
end

local MAX_SPAN <const> = 300
local SHELLS = tables.words "bash sh shell console zsh"

-- Programs of commands and paths in code spans that are one of the folder's but for a few letters: of another path only
-- its words would say whether it is read, or written, or another project's.
local function check_lines(tree, file, blocks, tell)
  local function look(text, line)
    local path = #text <= MAX_SPAN and missing_path(tree, text)
    if path and near(tree, path) then
      tell(path, { file = file, line = line })
    end
  end
  passages.each(blocks, function(passage)
    for code in (passage.kind == "comment" and "" or passage.text):gmatch "`([^`\n]+)`" do
      look(code:find "%s" and program_of(code) or code, passage.line)
    end
  end, function(block)
    local line = block.line
    for text in (SHELLS[block.lang] and block.text .. "\n" or ""):gmatch "(.-)\n" do
      line = line + 1
      look(program_of(text) or "", line)
    end
  end)
end

---Tells every link, path and command of the documents that leads nowhere.
---@param tree skillrt.load.Tree
---@param documents string[]  paths that have been read
---@param found skillrt.Findings
---@param told table<string, boolean>?  paths that were reported already
function M.check(tree, documents, found, told)
  local seen, rows = {}, {}
  for _, one in ipairs(found) do -- a row of a table says more: which phase does not run
    if one.code == "load.reference-missing" then
      rows[("%s:%s"):format(one.file, one.line)] = one.what
    end
  end
  local function tell(path, place)
    local row = rows[("%s:%s"):format(place.file, place.line)]
    if not (row and row:find(names.show(path), 1, true)) then
      tell_missing(tree, path, place, found)
    end
  end
  for _, file in ipairs(documents) do
    local blocks = tree:document(file)
    local here = {}
    for _, link in ipairs(markdown.links(blocks)) do
      local path = tree_of.resolve(file, link.target)
      if not here[link.target] and not (told and told[path or ""]) then
        here[link.target] = true
        resolved(tree, file, link, found, tell)
        seen[path or ""] = true
      end
    end
    check_lines(tree, file, blocks, function(path, place)
      if not seen[path] and not (told and told[path]) then
        seen[path] = true
        tell(path, place)
      end
    end)
  end
end

---The documents SKILL.md demands to be read before anything else.
---@param tree skillrt.load.Tree
---@return { path: string, line: integer }[]
function M.mandatory(tree)
  local out, seen = {}, {}
  local section = markdown.section(tree:document "SKILL.md", words.MANDATORY)
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
