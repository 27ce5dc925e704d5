-- document/load/flow/sections.lua: phases without a document of their own: their sections in SKILL.md.
--
-- Reads headings and what stands below them; runs nothing. Called by document/load/phase_md.lua.
local passages = require "skillrt.document.load.passages"

local M = {}

-- "Phase 2.5: Check": its number, its name; nil for anything else, also for parts such as 4A.
local function phase_heading(text)
  local digits, rest = text:gsub("[*_`]", ""):match "^[Pp]hase%s+(%d[%d.]*)(.*)$"
  if not digits or rest:find "^%a" then
    return nil
  end
  local number = {}
  for part in digits:gmatch "%d+" do
    number[#number + 1] = tonumber(part)
  end
  return number, (rest:gsub("^%s*[:\u{FF1A}%-\u{2013}\u{2014}]*%s*", ""))
end

local function key_of(number)
  return table.concat(number, ".")
end

local function names_file(blocks, from, to, by_path)
  for i = from, to do
    for path in (blocks[i].text or ""):gmatch "[%w_./-]+%.md" do
      local one = by_path[path] or by_path[path:match "[^/]+$"]
      if one then
        return one
      end
    end
  end
end

-- The sections below headings of phases: number, blocks, and the phase's file that is named there.
local function phase_sections(blocks, by_path)
  local out, skipped = {}, {}
  passages.each(blocks, function(passage)
    if passage.kind == "heading" and passage.example then
      skipped[passage.line] = true
    end
  end)
  for i, block in ipairs(blocks) do
    local number, name = nil, nil
    if block.kind == "heading" and block.level > 1 and not skipped[block.line] then
      number, name = phase_heading(block.text)
    end
    if number then
      local last = i
      while blocks[last + 1] and not (blocks[last + 1].kind == "heading" and blocks[last + 1].level <= block.level) do
        last = last + 1
      end
      out[#out + 1] = { number = number, name = name, level = block.level, line = block.line, first = i, last = last,
        stop = blocks[last + 1] and blocks[last + 1].line,
        file = names_file(blocks, i, math.min(last, i + 2), by_path) }
    end
  end
  return out
end

-- Whether the numbers of headings and of files mean the same phases: the file that a section begins with has its
-- number, or that of the phase it is a part of.
local function agree(sections)
  for _, one in ipairs(sections) do
    if one.file and one.file.number[1] ~= one.number[1] then
      return false
    end
  end
  return true
end

---The phases that only a section of SKILL.md describes, next to others with documents.
---@param tree skillrt.load.Tree
---@param phases skillrt.load.PhaseFile[]  with numbers
---@return skillrt.load.PhaseFile[] more  each with `text`, `line`, `name` and its `blocks`
function M.phases(tree, phases)
  local out, by_path, by_number = {}, {}, {}
  for _, one in ipairs(phases) do
    if #one.number == 0 or not one.path:find "^phases/" then
      return out
    end
    by_path[one.path], by_path[one.path:match "[^/]+$"] = one, one
    by_number[key_of(one.number)] = one
  end
  local blocks = #phases > 0 and tree:document "SKILL.md" or {}
  local sections = phase_sections(blocks, by_path)
  if not agree(sections) then
    return out
  end
  for _, one in ipairs(sections) do
    local key = key_of(one.number)
    -- phase 0, to study specs or to resume, is the runtime's own affair
    if not by_number[key] and not one.file and one.number[1] > 0 and one.last > one.first then
      by_number[key] = one
      one.blocks = table.move(blocks, one.first, one.last, 1, {})
      out[#out + 1] = { base = "phase-" .. key, path = "SKILL.md", number = one.number, name = one.name,
        line = one.line, stop = one.stop, blocks = one.blocks }
    end
  end
  return out
end

return M
