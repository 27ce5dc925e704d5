-- document/load/markdown.lua: a Markdown text as a list of blocks, each with its line: headings, list items
-- with their boxes, tables, fenced code, paragraphs.
--
-- Reads what documents of skills are made of, not all of CommonMark: no inline markup, no
-- quotes inside lists. Knows nothing of skills. Called by the readers of load/*.
local texts = require "skillrt.base.text"
local M = {}

local trim, trim_end, without_end = texts.trim, texts.trim_end, texts.without_end

---@class skillrt.load.Block
---@field kind "heading"|"item"|"table"|"code"|"text"|"comment"
---@field line integer
---@field text string?      heading, item, code, text, comment
---@field level integer?    heading
---@field plain string?     heading: as it is compared, once it has been
---@field indent integer?   item
---@field checked boolean?  item with a box
---@field lang string?      code: the first word of its info
---@field closed boolean?   code
---@field nested integer?   code: a line that looks like another fence of the same length (F65)
---@field header string[]?  table
---@field rows { cells: string[], line: integer }[]?  table

---@class skillrt.load.Markdown
---@field [integer] skillrt.load.Block

local BOM = "\239\187\191"

---A text without a byte order mark, with "\n" at the end of each line.
---@param text string
---@return string
function M.normal(text)
  if text:sub(1, #BOM) == BOM then
    text = text:sub(#BOM + 1)
  end
  return text:find("\r", 1, true) and text:gsub("\r\n?", "\n") or text
end

-- The line that begins at a place, its first character that is no blank ("" where it has none),
-- and the place of the next line; nil behind the last.
local function line_at(text, at)
  local stop = text:find("\n", at, true)
  if not stop then
    return nil
  end
  local line = text:sub(at, stop - 1)
  return line, line:match "^%s*(%S)" or "", stop + 1
end

local function lines_in(text)
  return select(2, text:gsub("[^\n]*\n", ""))
end

-- What a line may begin, by its first character: most lines begin nothing.
local BEGINS = { ["`"] = "fence", ["~"] = "fence", ["#"] = "heading", ["|"] = "table", ["<"] = "comment" }
for c in ("-*+0123456789"):gmatch "." do
  BEGINS[c] = "item"
end

local function fence_start(line)
  local mark, info = line:match "^%s*(```+)([^`]*)$"
  if not mark then
    mark, info = line:match "^%s*(~~~+)(.*)$"
  end
  return mark, info and trim(info)
end

-- Whether nothing but blanks stand before a place on its line.
local function is_first(text, at)
  local before
  repeat
    at = at - 1
    before = text:sub(at, at)
  until before == "\n" or not before:find "^%s"
  return before == "\n" and at
end

-- What a line is made of that may end code: the fence itself, what stands behind it, its end.
local FENCES = { ["`"] = "^(`+)([^`\n]*)()\n", ["~"] = "^(~+)([^\n]*)()\n" }

-- Code is taken as it stands: its lines are counted, not read.
local function read_fence(text, at, number, mark, info)
  local block = { kind = "code", lang = info:match "^[^%s{]*", info = info, line = number, closed = false }
  local char, from = mark:sub(1, 1), at
  local least, pattern = char:rep(3), FENCES[char]
  while true do
    local start = text:find(least, from, true)
    if not start then
      block.text = text:sub(at, -2) -- the line break behind it is ours
      return block, #text + 1, number
    end
    local other, more, stop = text:match(pattern, start)
    local before = other and is_first(text, start)
    if before and #other >= #mark and not more:find "%S" then
      block.text, block.closed = text:sub(at, before - 1), true
      return block, stop + 1, number + 1 + lines_in(text:sub(at - 1, before))
    elseif before and #other == #mark then
      block.nested = block.nested or number + lines_in(text:sub(at - 1, before))
    end
    from = text:find("\n", start, true)
  end
end

---The cells of a table's line; "\|" is a bar in a cell.
---@param line string
---@return string[]
function M.cells(line)
  local text, marked = trim(line), line:find("\\", 1, true)
  if marked then
    text = text:gsub("\\\\", "\2"):gsub("\\|", "\1")
  end
  text = text:sub(text:sub(1, 1) == "|" and 2 or 1, text:sub(-1) == "|" and -2 or -1)
  local cells, at = {}, 1
  repeat
    local cell, stop = text:match("^%s*([^|]*)()", at)
    cell = trim_end(cell)
    cells[#cells + 1] = marked and cell:gsub("\1", "|"):gsub("\2", "\\\\") or cell
    at = stop + 1
  until stop > #text
  return cells
end

local function is_delimiter(line)
  return line:find "^[%s:|-]+$" ~= nil and line:find("-", 1, true) ~= nil and line:find("|", 1, true) ~= nil
end

-- `at` is the place of the delimiter below the header.
local function read_table(text, header, at, number)
  local block = { kind = "table", line = number, header = M.cells(header), rows = {} }
  local line, _, after
  _, _, at = line_at(text, at)
  number = number + 2
  line, _, after = line_at(text, at)
  while line and line:find("|", 1, true) do
    block.rows[#block.rows + 1] = { cells = M.cells(line), line = number }
    at, number = after, number + 1
    line, _, after = line_at(text, at)
  end
  return block, at, number
end

local function item_start(line)
  local indent, text = line:match "^(%s*)[-*+]%s+(.*)$"
  if not indent then
    indent, text = line:match "^(%s*)%d+[.)]%s+(.*)$"
  end
  return indent and #indent:gsub("\t", "    "), text
end

local function starts_block(line, first)
  local begins = BEGINS[first]
  return first == "" or begins == "table"
    or begins == "heading" and line:find "^%s*#+%s"
    or begins == "fence" and fence_start(line)
    or begins == "item" and item_start(line)
end

local function read_item(text, at, number, indent, told)
  local block = { kind = "item", line = number, indent = indent }
  local box, rest = told:match "^%[([ xX])%]%s*(.*)$"
  if box then
    block.checked, told = box ~= " ", rest
  end
  local line, first, after = line_at(text, at)
  local parts = { told }
  number = number + 1
  while line and line:find "^%s%s" and not starts_block(line, first) do
    parts[#parts + 1], at, number = trim(line), after, number + 1
    line, first, after = line_at(text, at)
  end
  block.text = trim(table.concat(parts, " "))
  return block, at, number
end

local function read_text(text, told, at, number)
  local start = number
  local parts = { trim(told) }
  number = number + 1
  local line, first, after = line_at(text, at)
  while line and not starts_block(line, first) do
    local under = line:match "^%s*(=+)%s*$" or line:match "^%s*(%-+)%s*$"
    if under then
      local level = under:sub(1, 1) == "=" and 1 or 2
      return { kind = "heading", line = start, level = level, text = table.concat(parts, "\n") }, after, number + 1
    end
    parts[#parts + 1], at, number = trim(line), after, number + 1
    line, first, after = line_at(text, at)
  end
  return { kind = "text", line = start, text = table.concat(parts, "\n") }, at, number
end

-- `line` is the one the comment begins on, `at` and `number` of the next one and of this one.
local function read_comment(text, line, at, number)
  local block, told = { kind = "comment", line = number }, {}
  local _
  while line do
    told[#told + 1] = line
    if line:find("-->", 1, true) then
      break
    end
    line, _, at = line_at(text, at)
    number = number + 1
  end
  block.text = table.concat(told, "\n")
  return block, at or #text + 1, number + 1
end

-- A heading may end with marks too: "## Title ##".
local function without_marks(title)
  if title:sub(-1):find "[#%s]" then
    return trim(without_end(trim(title), "#"))
  end
  return title
end

-- The block that a line begins, the place behind it and the number of the line there.
local function read_block(text, line, first, at, number)
  local begins = BEGINS[first]
  if begins == "fence" then
    local mark, info = fence_start(line)
    if mark then
      return read_fence(text, at, number, mark, info)
    end
  elseif begins == "comment" and line:find "^%s*<!%-%-" then
    return read_comment(text, line, at, number)
  end
  local indent, told
  if begins == "item" then
    indent, told = item_start(line)
  elseif begins == "heading" then
    local marks, title = line:match "^%s?%s?%s?(#+)%s+(.*)$"
    if marks and #marks <= 6 then
      return { kind = "heading", line = number, level = #marks, text = without_marks(title) }, at, number + 1
    end
  end
  if not indent and line:find "^%s*[-*_][-*_%s]+$" then
    return nil, at, number + 1
  elseif line:find("|", 1, true) then
    local below = line_at(text, at)
    if below and is_delimiter(below) then
      return read_table(text, line, at, number)
    end
  end
  if indent then
    return read_item(text, at, number, indent, told)
  end
  return read_text(text, line, at, number)
end

---@param text string
---@param first_line integer?  the line its first line has in its file, default 1
---@return skillrt.load.Markdown
function M.parse(text, first_line)
  text = M.normal(text) .. "\n"
  local blocks, number = {}, first_line or 1
  local line, first, at = line_at(text, 1)
  while line do
    if first == "" then
      number = number + 1
    else
      blocks[#blocks + 1], at, number = read_block(text, line, first, at, number)
    end
    line, first, at = line_at(text, at)
  end
  return blocks
end

-- A heading as it is compared: small letters, without marks, numbers and what brackets add.
local function plain(title)
  title = title:lower()
  if title:find "[`*_#]" then
    title = title:gsub("[`*_#]", "")
  end
  return trim(title:match "^[%d.%s]*(.*)$")
end

---The first heading of the first level: a document's title.
---@param blocks skillrt.load.Markdown
---@return string? text
---@return integer? line
function M.title(blocks)
  for _, block in ipairs(blocks) do
    if block.kind == "heading" and block.level == 1 then
      return block.text, block.line
    end
  end
  return nil
end

local function below(blocks, at)
  local section = { heading = blocks[at] }
  for k = at + 1, #blocks do
    if blocks[k].kind == "heading" and blocks[k].level <= section.heading.level then
      break
    end
    section[#section + 1] = blocks[k]
  end
  return section
end

---The blocks below the first heading that names one of `words`, to the next heading of its level.
---@param blocks skillrt.load.Markdown
---@param words string[]  in small letters; found anywhere in the heading
---@param whole boolean?   a heading is one of the words
---@return skillrt.load.Markdown? section  with .heading
function M.section(blocks, words, whole)
  for i, block in ipairs(blocks) do
    if block.kind == "heading" and block.level > 1 then
      local title = block.plain or plain(block.text)
      block.plain = title
      for _, word in ipairs(words) do
        if title == word or not whole and title:find(word, 1, true) then
          return below(blocks, i)
        end
      end
    end
  end
  return nil
end

---What stands between backticks at the beginning of a text, and what follows.
---@param text string
---@return string? code
---@return string rest
function M.code_span(text)
  local marks = text:match "^`+"
  if not marks then
    return nil, text
  end
  local from = #marks + 1
  local first, last = text:find(marks, from, true)
  if first and text:find("^`", last + 1) then -- not the run of marks that closes it
    first, last = text:find("%f[`]" .. marks .. "%f[^`]", from)
  end
  if not first then
    return nil, text
  end
  return trim(text:sub(from, first - 1)), text:sub(last + 1)
end

local function has_link(cells)
  for _, cell in ipairs(cells) do
    if cell:find("](", 1, true) then
      return true
    end
  end
  return false
end

---The targets of links `[text](target)` outside code, with their lines.
---@param blocks skillrt.load.Markdown
---@return { target: string, text: string, line: integer }[]
function M.links(blocks)
  local out = {}
  local function collect(text, line)
    text = text:gsub("`[^`]*`", "")
    for label, at in text:gmatch "%[([^%[%]]*)%]%(%s*()" do
      local target, after = text:match("^<([^<>]+)>()", at)
      if not target then
        target, after = text:match("^([^%s()<>]+)()", at)
      end
      local is_link = target and not text:find("^%s+[^%s\"'()]", after) -- one with a blank in it is none
        and not text:find "^[%s%-+*]*[Bb][Aa][Dd]%**:"
      out[#out + 1] = is_link and { target = target, text = label, line = line } or nil
    end
  end
  for _, block in ipairs(blocks) do
    if block.kind == "table" then
      for _, row in ipairs(block.rows) do
        if has_link(row.cells) then
          collect(table.concat(row.cells, " "), row.line)
        end
      end
    elseif block.kind ~= "code" and block.kind ~= "comment" and block.text:find("](", 1, true) then
      collect(block.text, block.line)
    end
  end
  return out
end

return M
