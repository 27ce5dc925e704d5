-- document/load/flow/sections.lua: what the sections of SKILL.md say of phases: those that have no document of their
-- own and are told there, and modes under a heading each ("Quick Mode: run phase 1 only").
--
-- Reads headings and what stands below them; runs nothing. Called by document/load/flow.lua and
-- document/load/phase_md.lua.
local passages = require "skillrt.document.load.passages"

local M = {}

local MAX_LINE <const> = 400

-- "Phase 2.5: Check": its number, its name; nil for all else, parts such as 4A too.
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

-- The sections below headings of phases: which number, which blocks, what file of a phase is named there.
local function phase_sections(blocks, by_path)
  local out, skipped = {}, {}
  passages.each(blocks, function(passage)
    if passage.kind == "heading" and (passage.example or passage.failure) then
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

---The phases that only a section of SKILL.md describes, beside others that have documents.
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
  local blocks = #phases > 0 and tree:has "SKILL.md" and tree:document "SKILL.md" or {}
  local sections = phase_sections(blocks, by_path)
  if not agree(sections) then
    return out
  end
  for _, one in ipairs(sections) do
    local key = key_of(one.number)
    local title = one.name:lower() -- to study specs and to resume is the runtime's own affair
    local study = one.number[1] == 0 and (title:find "spec" or title:find "resum")
    if not by_number[key] and not one.file and not study and one.last > one.first then
      by_number[key] = one
      one.blocks = table.move(blocks, one.first, one.last, 1, {})
      out[#out + 1] = { base = "phase-" .. key, path = "SKILL.md", number = one.number, name = one.name,
        line = one.line, stop = one.stop, blocks = one.blocks }
    end
  end
  return out
end

-- "Single Role Mode Execution" is about the mode single-role.
local function mode_in(title)
  local words = {}
  for word in title:sub(1, MAX_LINE):lower():gsub("[*`]", ""):match("^[%w%s_-]*"):gmatch "[%w_-]+" do
    if word == "mode" then
      local is_name = #words > 0 and #words <= 2 and words[1] ~= "phase" and words[1] ~= "step"
      return is_name and table.concat(words, "-") or nil
    end
    words[#words + 1] = word
  end
  return nil
end

-- "Run phases 1 and 2 only.", "Run all 4 phases sequentially.": the phases; nil for all else.
local function run_only(text, mentions)
  local plain = text:lower():gsub("[*_]", ""):gsub("[.!]%s*$", "")
  plain = plain:gsub("%s+sequentially$", ""):gsub("%s+in order$", ""):gsub("%s+only$", ""):gsub("%s+only%s+", " ")
  plain = plain:gsub("^%s*", ""):gsub("^runs? only ", "run "):gsub("^execut%a+ ", "run "):gsub("^runs ", "run ")
  if plain:find "^run all %d*%s*phases$" or plain:find "^all %d*%s*phases$" then
    local all = {}
    for i in ipairs(mentions.phases) do
      all[i] = i
    end
    return all
  elseif plain:find "^run phases? [%d%s,&andto.-]+$" then
    return mentions:of(text)
  end
  return nil
end

---Modes that have a heading each, the first sentence below which says which phases run.
---@param blocks skillrt.load.Markdown
---@param mentions skillrt.load.Mentions
---@return { mode: string, default: boolean, phases: integer[], line: integer, text: string }[]  fewer than two: none
function M.modes(blocks, mentions)
  local out = {}
  for i, block in ipairs(blocks) do
    local name = block.kind == "heading" and mode_in(block.text)
    local below = blocks[i + 1]
    if name and below and (below.kind == "text" or below.kind == "item") and #below.text <= MAX_LINE then
      local first = below.text:match "^([^\n]-[.!])%s" or below.text:match "^[^\n]*"
      local phases = run_only(first, mentions)
      if phases and #phases > 0 then
        out[#out + 1] = { mode = name, default = block.text:lower():find "default" ~= nil,
          phases = phases, line = below.line, text = first }
      end
    end
  end
  return #out > 1 and out or {}
end

---The names of modes that headings give: "Single Role Mode" is single-role.
---@param blocks skillrt.load.Markdown
---@return string[]
function M.mode_names(blocks)
  local out, seen = {}, {}
  for _, block in ipairs(blocks) do
    local name = block.kind == "heading" and mode_in(block.text)
    if name and not seen[name] then
      seen[name] = true
      out[#out + 1] = name
    end
  end
  return out
end

return M
