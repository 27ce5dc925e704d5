-- report/tree.lua: what was generated, or would be: a tree of the files with their sizes, differences in files that a
-- person changed, and a summary line.
--
-- Lines only, escaped; writes nothing. Called by cli/writing.lua.

local compare = require("skillrt.document.write.compare")
local text_of = require("skillrt.base.terminal_text")

local M = {}

local MOST = 40 -- entries shown of a folder
local MOST_DIFF = 400 -- lines shown of a file's difference
local AROUND = 2 -- lines shown before a conflict

-- Words and colours of what happens to a file.
local WORDS = {
  new = { "new", "good" },
  changed = { "changed", "warning" },
  same = { "same", "detail" },
  kept = { "kept", "detail" },
  own = { "changed by hand, kept", "detail" },
  merged = { "merged with what was changed by hand", "warning" },
  edited = { "changed by hand", "error" },
  gone = { "removed", "warning" },
  left = { "kept: no longer generated, but changed by hand", "warning" },
}

local ORDER = { "new", "changed", "merged", "edited", "gone", "same", "own", "kept", "left" }

---A size for people: "812 B", "3.4 kB", "1.2 MB".
---@param bytes integer
---@return string
function M.size(bytes)
  if bytes < 1000 then
    return bytes .. " B"
  elseif bytes < 1000000 then
    return ("%.1f kB"):format(bytes / 1000)
  end
  return ("%.1f MB"):format(bytes / 1000000)
end

-- Folders before they are drawn: { name, item | children }.
local function grow(items)
  local root = { children = {}, by_name = {} }
  for _, item in ipairs(items) do
    local at = root
    for folder in item.path:gmatch("([^/]+)/") do
      local child = at.by_name[folder]
      if not child then
        child = { name = folder .. "/", children = {}, by_name = {} }
        at.by_name[folder] = child
        at.children[#at.children + 1] = child
      end
      at = child
    end
    at.children[#at.children + 1] = { name = item.path:match("[^/]+$"), item = item }
  end
  return root
end

-- If a folder has too many entries, changed ones are shown before unchanged ones.
local function shown_of(children)
  if #children <= MOST then
    return children, 0
  end
  local shown = {}
  for _, wants in ipairs({ true, false }) do
    for _, child in ipairs(children) do
      local news = not child.item or (child.item.what ~= "same" and child.item.what ~= "kept")
      if #shown < MOST and news == wants then
        shown[#shown + 1] = child
      end
    end
  end
  return shown, #children - #shown
end

local function draw(node, indent, rows)
  local children, hidden = shown_of(node.children)
  for i, child in ipairs(children) do
    local last = i == #children and hidden == 0
    rows[#rows + 1] = { indent .. (last and "`-- " or "|-- ") .. text_of.escape(child.name), child.item }
    if child.children then
      draw(child, indent .. (last and "    " or "|   "), rows)
    end
  end
  if hidden > 0 then
    rows[#rows + 1] = { ("%s`-- ... and %d more"):format(indent, hidden) }
  end
end

---The tree of a plan.
---@param plan skillrt.writer.Plan
---@param paint fun(kind: string, text: string): string
---@return string[] lines
function M.lines(plan, paint)
  local rows, width, lines = {}, 0, { text_of.escape(plan.dir) .. "/" }
  draw(grow(plan.items), "", rows)
  for _, row in ipairs(rows) do
    width = math.max(width, math.min(60, text_of.width(row[1])))
  end
  for _, row in ipairs(rows) do
    local label, item = row[1], row[2]
    if item then
      local word, kind = table.unpack(WORDS[item.what])
      local size = item.text and M.size(#item.text) or ""
      label = ("%s%s  %8s  %s"):format(label, (" "):rep(width - text_of.width(label)), size, paint(kind, word))
    end
    lines[#lines + 1] = label
  end
  return lines
end

---"12 files: 3 new, 9 same".
---@param plan skillrt.writer.Plan
---@param forced boolean?  a person's changes were overwritten
---@return string
function M.sum(plan, forced)
  local parts = {}
  for _, what in ipairs(ORDER) do
    local count = plan.counts[what]
    if count then
      local word = what == "edited" and forced and "overwritten" or WORDS[what][1]:match("^[^:]+")
      parts[#parts + 1] = ("%d %s"):format(count, word)
    end
  end
  return ("%d file%s: %s"):format(#plan.items, #plan.items == 1 and "" or "s", table.concat(parts, ", "))
end

-- Where both versions are between marks, with a few lines around; else how they differ.
local function lines_of(item, name)
  if not item.conflict then
    return compare.unified(item.there, item.text, name) or { name .. ": differs; no program is here that shows how" }
  end
  local all, shown, lines = {}, {}, { name .. ": changed by hand and by the config:" }
  local inside = false
  for line in (item.conflict .. "\n"):gmatch("([^\n]*)\n") do
    all[#all + 1] = line
    inside = inside or line:find("^<<<<<<< ") ~= nil
    for i = #all - (inside and AROUND or 0), inside and #all or 0 do
      shown[i] = true
    end
    inside = inside and not line:find("^>>>>>>> ")
  end
  for i, line in ipairs(all) do
    lines[#lines + 1] = shown[i] and line or nil
  end
  return lines
end

---What both a person and the config changed, and which other changes of a person would be lost.
---@param plan skillrt.writer.Plan
---@param paint fun(kind: string, text: string): string
---@return string[] lines
function M.diffs(plan, paint)
  local lines = {}
  for _, item in ipairs(plan.items) do
    if item.what == "edited" then
      local diff = lines_of(item, text_of.escape(plan.dir .. "/" .. item.path))
      for i = 1, math.min(#diff, MOST_DIFF) do
        local line = diff[i]
        local sign = line:sub(1, 1)
        local kind = (sign == "+" and "good") or (sign == "-" and "error") or (sign == "@" and "detail") or ""
        lines[#lines + 1] = paint(kind, text_of.escape((line:gsub("\t", "  "))))
      end
      if #diff > MOST_DIFF then
        lines[#lines + 1] = ("... and %d lines more"):format(#diff - MOST_DIFF)
      end
    end
  end
  return lines
end

return M
