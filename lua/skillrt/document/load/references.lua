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

local M = {}

-- What a missing path may have meant: a file of the same folder, or of the same name.
local function near(tree, path)
  local folder, name = path:match "^(.*/)([^/]*)$"
  local siblings = {}
  for _, other in ipairs(tree.paths) do
    if folder and other:sub(1, #folder) == folder and not other:find("/", #folder + 1, true) then
      siblings[#siblings + 1] = other
    elseif other:match "[^/]*$" == (name or path) then
      return other
    end
  end
  return names.nearest(path, siblings)
end

local MAX_ABOVE <const> = 6

-- Whether a path is one from a folder above: of the repository or the plugin that the skill is a part of.
local function lies_above(tree, path)
  local above = ".."
  for _ = 1, MAX_ABOVE do
    if files.stat(files.join(tree.dir, above .. "/" .. path)) then
      return true
    end
    above = above .. "/.."
  end
  return false
end

local function tell_missing(tree, path, place, found, in_code)
  if in_code and lies_above(tree, path) then
    local what = ("%s is none of the folder's, but of a folder above it"):format(names.show(path))
    return found:note("reference-outside", place, what, "nothing outside the folder is read", "copy it into the folder")
  end
  local other = near(tree, path)
  local what = ("refers to %s, which is not in the folder%s"):format(names.show(path),
    other and (" (did you mean %s?)"):format(other) or "")
  found:warn("reference-missing", place, what, "whoever follows it finds nothing", "add the file or remove the link")
end

-- "[0,2,4](MON/WED/FRI)" is no link: a file has an ending, a folder a slash behind it.
local function is_path(target)
  local plain = target:gsub("[#?].*$", "")
  if plain:find("...", 1, true) or plain:find "^%.%w" then -- left open, or hidden: where something works
    return false
  end
  return plain:find("%.%w+$") ~= nil or plain:sub(-1) == "/"
end

local function resolved(tree, file, link, found)
  local path, problem = tree_of.resolve(file, link.target)
  local place = { file = file, line = link.line }
  if problem and link.target:find "%.%.%.$" then -- left open
    return nil
  elseif problem then
    local there = files.stat(files.join(tree.dir, files.dirname(file) .. "/" .. link.target:gsub("[#?].*$", "")))
    local tell = there and found.note or found.warn -- a host that is given the other skill too follows it
    tell(found, "reference-outside", place, problem, "nothing outside the folder is read", "copy it into the folder")
    return nil
  elseif path and not tree.kinds[path] and not path:find "[{}<>*$]" and is_path(link.target) then
    tell_missing(tree, path, place, found)
    return nil
  end
  return path
end

-- Folders of a skill that hold what its documents lead to; what is written goes elsewhere.
local FOLDERS = { "scripts", "references", "reference", "assets", "templates", "specs", "phases", "resources", "roles" }

-- Words before a path that say it is made, not read.
local MAKES = { "creat", "writ", "generat", "sav", "output", "produc", "add ", "store", "put ", "into ", "e%.g%.",
  "such as", "example", "for instance", "rename", "updat", "mov", "\u{521B}\u{5EFA}", "\u{751F}\u{6210}",
  "\u{5199}\u{5165}", "\u{8F93}\u{51FA}" }

local function is_made(before)
  before = before:lower()
  for _, word in ipairs(MAKES) do
    if before:find(word) then
      return true
    end
  end
  return false
end

-- A path below a folder of the skill that is there, to a file that is not: somebody mistook its name.
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

-- Words before a path that send somebody to it. Without them a path is only spoken of, but where a line begins with it.
local READS = { "read", "see", "load", "follow", "refer", "us[ei]", "run", "execut", "open", "consult", "check", "file",
  "detail", "guide", "script", "template", "%f[%a]in%s*$", "%f[%a]from%s*$", "\u{8BFB}", "\u{89C1}", "\u{53C2}",
  "\u{67E5}", "\u{6267}\u{884C}", "\u{8FD0}\u{884C}", "\u{4F7F}\u{7528}" }

local function is_read(before)
  before = before:lower()
  local found = not before:find "%w" or before:find "[:|\u{FF1A}]%**%s*$" ~= nil
  for _, word in ipairs(READS) do
    found = found or before:find(word) ~= nil
  end
  return found and not before:find "%f[%a]like%s*$" and not before:find "%f[%a]bad%**:"
end

-- "World Watch's `scripts/x.sh`" is that one's.
local function is_anothers(before)
  local owner = before:lower():match "([%w]+)['\u{2019}]+s%s*$"
  return owner ~= nil and owner ~= "skill" and owner ~= "folder"
end

local RUNNERS = { python = true, python3 = true, node = true, bash = true, sh = true, ruby = true, lua = true,
  uv = true, npx = true, deno = true, perl = true }

-- `python scripts/x.py --flag`, `./scripts/x.sh`: the program of a command line.
local function program_of(line)
  local first, rest = line:match "^%s*[$]?%s*(%S+)%s*(.*)$"
  if first and RUNNERS[first] then
    first = rest:gsub("^run%s+", ""):match "^([^%s-]%S*)"
  end
  return first
end

local MAX_SPAN <const> = 300

-- Each code span of a text, with what stands between it and the one before, and that one.
local function each_span(text, visit)
  local at, last = 1, nil
  while true do
    local open = text:find("`", at, true)
    local close = open and text:find("`", open + 1, true)
    if not close then
      return
    elseif close > open + 1 and close - open <= MAX_SPAN then
      visit(text:sub(math.max(at, open - MAX_SPAN), open - 1), text:sub(open + 1, close - 1), last)
      last = text:sub(open + 1, close - 1)
    end
    at = close + 1
  end
end

-- A line that names files by a pattern, or such as the folder has not, is about somebody's project.
local function is_about_others(tree, text)
  local others, missing = false, 0
  each_span(text, function(_, code)
    local bare = code:find "^[%w_.-]+%.%l%l?%l?%l?$" and code or nil
    others = others or code:find "^[%w_./-]*%*[%w_./*-]*$" ~= nil
    missing = missing + (bare and not tree.kinds[bare] and 1 or 0)
  end)
  return others or missing > 1
end

local SHELLS = { bash = true, sh = true, shell = true, console = true, zsh = true }

local function check_lines(tree, file, blocks, tell)
  local made, waiting = false, {} -- what stands below "Generated files:" is made
  local function over(shown)
    for _, one in ipairs(not shown and waiting or {}) do
      tell(one[1], one[2])
    end
    waiting = {}
  end
  passages.each(blocks, function(passage)
    over(false)
    if passage.kind == "text" or passage.kind == "heading" then
      made = (passage.kind == "heading" or passage.text:find "[:\u{FF1A}]%**$") and is_made(passage.text) or false
    end
    if passage.example or passage.quote or passage.kind == "comment" or made and passage.kind ~= "text" then
      return
    end
    local about_others = nil
    each_span(passage.text, function(before, code, last)
      local path = is_read(before) and missing_path(tree, code)
        or code:find "%s" and missing_path(tree, program_of(code) or "")
      -- "`that-skill`: its `references/x.md`", "`that-skill`'s `references/x.md`", "`/that:skill` `references/x.md`"
      local others = before:find "%f[%w][Ii]ts%s*$" or last and before:find "^'s%s*$" or is_anothers(before)
        or last and last:find "^/" and before:find "^%s*$"
      if path and about_others == nil then
        about_others = is_about_others(tree, passage.text) or passage.text:lower():find "%f[%a]export" ~= nil
          or passage.text:find "%f[%a][Ee]xamples?%**:" ~= nil or passage.text:find "\u{2192} `" ~= nil
      end
      -- "`a.md`:" may stand over the text that is written into it
      if path and not is_made(before) and not others and not about_others then
        waiting[#waiting + 1] = { path, { file = file, line = passage.line } }
        if not passage.text:find "[:\u{FF1A}]%**$" then
          over(false)
        end
      end
    end)
  end, function(block, example)
    local line = block.line
    over(not SHELLS[block.lang])
    for text in ((SHELLS[block.lang] and not example and block.text or "") .. "\n"):gmatch "(.-)\n" do
      line = line + 1
      local path = #text <= MAX_SPAN * 4 and missing_path(tree, program_of(text) or "")
      if path then
        tell(path, { file = file, line = line })
      end
    end
  end)
  over(false)
end

---Tells every link, path and command of the documents that leads nowhere.
---@param tree skillrt.load.Tree
---@param documents string[]  paths that have been read
---@param found skillrt.Findings
---@param told table<string, boolean>?  paths that are told of already
function M.check(tree, documents, found, told)
  local seen = {}
  for _, file in ipairs(documents) do
    local blocks = tree:has(file) and tree:document(file) or {}
    local here = {}
    for _, link in ipairs(markdown.links(blocks)) do
      local path = tree_of.resolve(file, link.target)
      if not here[link.target] and not (told and told[path or ""]) then
        here[link.target] = true
        resolved(tree, file, link, found)
        seen[path or ""] = true
      end
    end
    check_lines(tree, file, blocks, function(path, place)
      if not seen[path] and not (told and told[path]) then
        seen[path] = true
        tell_missing(tree, path, place, found, true)
      end
    end)
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
