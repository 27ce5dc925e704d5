-- document/load/tree.lua: a skill's folder: which files it holds, and their texts; nothing outside of it.
--
-- A link to a folder in here is that folder; other links are not followed and told (F13); sizes are
-- bounded. Reads a document when it is asked for, not before. Called by folder.lua.
local files = require "skillrt.base.files"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local tables = require "skillrt.base.tables"

local M = {}

M.MAX_DOCUMENT = 16 << 20 -- the catalog of 10,000 actions has 3 MB
M.MAX_DATA = 16 << 20
M.MAX_FILES = 50000
M.MAX_DEPTH = 16

local SKIPPED = { [".git"] = true, ["node_modules"] = true }

---@class skillrt.load.Tree
---@field dir string
---@field kinds table<string, string>  "file" or "directory" by path
---@field paths string[]  of all files, sorted
---@field real table<string, string>  of a file below a linked folder: its path through no link; of a skill.md
---@field found skillrt.Findings
local Tree = {}
Tree.__index = Tree

-- What cannot be read: the skill is refused where it is one of its documents; other files are for agents.
local function miss(self, code, place, ...)
  local path = place.file
  local is_own = path == "." or path:find "^phases%f[/\0]" or path:lower() == "skill.md"
  self.found[is_own and "error" or "warn"](self.found, code, place, ...)
end

-- A folder that cannot be listed is reported, not skipped.
local function walk(self, folder, depth)
  local entries, message = files.list(folder == "" and self.dir or files.join(self.dir, folder))
  if not entries then
    miss(self, "unreadable", { file = folder == "" and "." or folder }, message, "what it holds was not read")
    return
  elseif depth > M.MAX_DEPTH then
    self.found:error("too-deep", { file = folder }, ("is more than %d folders deep"):format(M.MAX_DEPTH))
    return
  end
  table.sort(entries, function(a, b)
    return a.name < b.name
  end)
  for _, entry in ipairs(entries) do
    local path = folder == "" and entry.name or folder .. "/" .. entry.name
    self.kinds[path] = entry.kind
    if entry.kind == "link" then
      self.links[#self.links + 1] = path
    elseif entry.kind == "directory" and not SKIPPED[entry.name] then
      if entry.name:find "%.md$" then
        miss(self, "unreadable", { file = path }, "is a folder, not a document", "it was not read as one")
      end
      walk(self, path, depth + 1)
    elseif entry.kind == "file" then
      self.paths[#self.paths + 1] = path
    elseif entry.kind ~= "directory" then
      miss(self, "unreadable", { file = path }, "is neither a file nor a folder")
    end
    if #self.paths >= M.MAX_FILES then
      return
    end
  end
end

-- The folders in here, by what the system knows them by.
local function folders_of(self)
  local out = {}
  for path, kind in pairs(self.kinds) do
    local info = kind == "directory" and files.stat(files.join(self.dir, path))
    if info then
      out[info.id] = path
    end
  end
  return out
end

-- The folder in here that a link leads to; none that holds the link itself.
local function target_of(self, folders, link)
  local info = files.stat(files.join(self.dir, link) .. "/.")
  local path = info and folders[info.id]
  return path and link:sub(1, #path + 1) ~= path .. "/" and path or nil
end

-- What is read of a skill: what a link stands for there is missed. Other files are the agent's, who follows the link.
local READ = tables.words "phases steps specs roles workflows skills"

local function is_read(link)
  local top = link:match "^([^/]*)/"
  return READ[top] or not top and (link:find "%.%l+$" ~= nil or READ[link])
end

-- Links that are not followed and that something is missed by, in one line.
local function tell_links(self, links)
  local bad = {}
  for _, link in ipairs(links) do
    local path = files.join(self.dir, link)
    bad[#bad + 1] = (is_read(link) or not files.is_folder(path) and not files.read(path)) and link or nil
  end
  if bad[1] then
    local more = #bad == 2 and ", as is another" or #bad > 2 and (", as are %d others"):format(#bad - 1) or ""
    local is_page = tables.has(bad, "SKILL.md")
    self.found[is_page and "error" or "warn"](self.found, "link", { file = is_page and "SKILL.md" or bad[1] },
      "is a symbolic link" .. more, "it points outside the folder, to a file, or to nothing: its target was not read",
      is_page and "give the folder that holds the file" or "put the file itself here")
  end
end

-- What lies in the folder that a link leads to lies there, too; where it leads out, nothing of it is read.
local function follow_links(self)
  local real, left = table.move(self.paths, 1, #self.paths, 1, {}), {}
  local folders = self.links[1] and folders_of(self)
  for _, link in ipairs(self.links) do
    local target = target_of(self, folders, link)
    for _, path in ipairs(target and real or {}) do
      if path:sub(1, #target + 1) == target .. "/" and #self.paths < M.MAX_FILES then
        local here = link .. path:sub(#target + 1)
        self.paths[#self.paths + 1], self.kinds[here], self.real[here] = here, "file", path
      end
    end
    left[#left + 1] = not target and link or nil
  end
  tell_links(self, left)
  if #self.paths > #real then
    table.sort(self.paths)
  end
end

---@param dir string
---@param found skillrt.Findings
---@return skillrt.load.Tree
function M.open(dir, found)
  local self = setmetatable({ dir = dir, kinds = {}, paths = {}, links = {}, real = {}, found = found, texts = {},
    blocks = {} }, Tree)
  walk(self, "", 0)
  for i, path in ipairs(self.paths) do
    if not self.kinds["SKILL.md"] and path:lower() == "skill.md" then
      self.paths[i], self.kinds["SKILL.md"], self.real["SKILL.md"] = "SKILL.md", "file", path
    end
  end
  if #self.paths < M.MAX_FILES then
    follow_links(self)
  end
  if #self.paths >= M.MAX_FILES then
    local last = self.paths[#self.paths]
    found:error("too-many", { file = "." },
      ("holds more than %d files; those behind %s were not seen"):format(M.MAX_FILES, last), nil,
      "give the skill a folder of its own")
  end
  return self
end

---@param path string
---@return boolean
function Tree:has(path)
  return self.kinds[path] == "file"
end

---The path of a file here through no link: by it a run reads the file.
---@param path string
---@return string
function Tree:unlinked(path)
  return self.real[path] or path
end

---The first of these paths that is a file here.
---@param ... string
---@return string? path
function Tree:first(...)
  for _, path in ipairs { ... } do
    if self:has(path) then
      return path
    end
  end
  return nil
end

---The files right in a folder whose name matches.
---@param folder string  "": the skill's own
---@param pattern string
---@return string[] paths  sorted
function Tree:within(folder, pattern)
  local out = {}
  for _, path in ipairs(self.paths) do
    local name = folder == "" and path or path:sub(1, #folder + 1) == folder .. "/" and path:sub(#folder + 2)
    if name and not name:find("/", 1, true) and name:find(pattern) then
      out[#out + 1] = path
    end
  end
  return out
end

---The skills below it, each in a folder of its own.
---@return string[] folders  sorted by path
function Tree:skills()
  local out = {}
  for _, path in ipairs(self.paths) do
    out[#out + 1] = path:match "^(.+)/[Ss][Kk][Ii][Ll][Ll]%.md$"
  end
  return out
end

---The text of a file here; what keeps it from being read is a finding.
---@param path string
---@param maximum integer?
---@return string? text
function Tree:read(path, maximum)
  if self.texts[path] ~= nil then
    return self.texts[path] or nil -- a file that cannot be read is reported once
  end
  self.texts[path] = false
  local text, message = files.kept(self.dir, self:unlinked(path), maximum or M.MAX_DOCUMENT)
  if not text then
    miss(self, "unreadable", { file = path }, message)
    return nil
  end
  text = markdown.normal(text)
  local good, bad = utf8.len(text)
  if not good then
    local line = select(2, text:sub(1, bad):gsub("\n", "")) + 1
    miss(self, "encoding", { file = path, line = line }, "is no UTF-8")
    return nil
  end
  self.texts[path] = text
  return text
end

---The blocks of a Markdown file; none where it is not here or cannot be read.
---@param path string
---@return skillrt.load.Markdown
function Tree:document(path)
  local text = not self.blocks[path] and self:has(path) and self:read(path)
  if not text then
    return self.blocks[path] or {}
  end
  local body, first = require("skillrt.document.load.front_matter").body(text)
  local blocks = markdown.parse(body, first)
  self.blocks[path] = blocks
  local found = self.found
  for _, block in ipairs(blocks) do
    if block.kind == "code" and not block.closed then
      local place = { file = path, line = block.line }
      found:warn("fence", place, "the code that begins here is never closed")
    end
  end
  return blocks
end

---The path, in this folder, of a link in one of its files; nil and why where it leaves.
---@param from string
---@param target string
---@return string? path
---@return string? problem  nil for what is no link to a file
function M.resolve(from, target)
  if target:find "^%a[%w+.-]*:" or target:find "^[#/]" then
    return nil
  end
  target = target:gsub("[#?].*$", ""):gsub("%%(%x%x)", function(hex)
    return string.char(tonumber(hex, 16))
  end)
  local parts = {}
  for part in (files.dirname(from) .. "/" .. target):gmatch "[^/]+" do
    if part == ".." then
      if #parts == 0 then
        return nil, ("%s points outside the skill's folder"):format(names.show(target))
      end
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return #parts > 0 and table.concat(parts, "/") or nil
end

return M
