-- document/load/markdown.lua: a Markdown text as a list of blocks, each with its line: headings, list items
-- with their boxes, tables, fenced code, paragraphs.
--
-- Reads what skill documents consist of, not all of CommonMark: no inline markup, no quotes inside lists. Knows
-- nothing of skills. Called by the readers of load/*.
local texts = require "skillrt.base.text"
local M = {}

local trim, trim_end, without_end = texts.trim, texts.trim_end, texts.without_end

---@class skillrt.load.Block
---@field kind "heading"|"item"|"table"|"code"|"text"|"comment"
---@field line integer
---@field text string?      heading, item, code, text, comment
---@field level integer?    heading
---@field plain string?     heading: the form used for comparison, once computed
---@field indent integer?   item
---@field checked boolean?  item with a box
---@field lang string?      code: the first word of its info
---@field closed boolean?   code
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

local function fence_start(line)
  local mark, info = line:match "^%s*(```+)([^`]*)$"
  if not mark then
    mark, info = line:match "^%s*(~~~+)(.*)$"
  end
  return mark, info and trim(info)
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
  return line and line:find "^[%s:|-]+$" and line:find("-", 1, true) and line:find("|", 1, true)
end

local function item_start(line)
  local indent, text = line:match "^(%s*)[-*+]%s+(.*)$"
  if not indent then
    indent, text = line:match "^(%s*)%d+[.)]%s+(.*)$"
  end
  return indent and #indent:gsub("\t", "    "), text
end

-- What a line may begin, by its first character: most lines begin nothing.
local BEGINS = { [""] = "blank", ["`"] = "code", ["~"] = "code", ["#"] = "heading", ["|"] = "row", ["<"] = "comment" }
for c in ("-*+0123456789"):gmatch "." do
  BEGINS[c] = "item"
end

local function begins(line)
  return BEGINS[line:match "^%s*(%S?)"]
end

-- How a block is read whose first line is at a place of a list: returns the block and the place after it; no block:
-- the line belongs to another kind.
local READ = {}

-- Code is taken as it is.
function READ.code(lines, at)
  local mark, info = fence_start(lines[at])
  if not mark then
    return nil
  end
  local block = { kind = "code", lang = info:match "^[^%s{]*", closed = false }
  local pattern = "^%s*(" .. mark:sub(1, 1) .. "+)(.*)$"
  for i = at + 1, #lines do
    local other, more = lines[i]:match(pattern)
    if other and #other >= #mark and not more:find "%S" then
      block.text, block.closed = table.concat(lines, "\n", at + 1, i - 1), true
      return block, i + 1
    end
  end
  block.text = table.concat(lines, "\n", at + 1)
  return block, #lines + 1
end

function READ.comment(lines, at)
  local last = at
  if not lines[at]:find "^%s*<!%-%-" then
    return nil
  end
  while not lines[last]:find("-->", 1, true) and lines[last + 1] do
    last = last + 1
  end
  return { kind = "comment", text = table.concat(lines, "\n", at, last) }, last + 1
end

-- A heading may end with marks too: "## Title ##".
function READ.heading(lines, at)
  local marks, title = lines[at]:match "^%s?%s?%s?(#+)%s+(.*)$"
  if marks and #marks <= 6 then
    title = title:sub(-1):find "[#%s]" and trim(without_end(trim(title), "#")) or title
    return { kind = "heading", level = #marks, text = title }, at + 1
  end
end

local function read_table(lines, at)
  local block = { kind = "table", header = M.cells(lines[at]), rows = {} }
  at = at + 2
  while lines[at] and lines[at]:find("|", 1, true) do
    block.rows[#block.rows + 1] = { cells = M.cells(lines[at]), line = at }
    at = at + 1
  end
  return block, at
end

local function starts_block(line)
  local kind = begins(line)
  return kind == "blank" or kind == "row" or kind == "heading" and line:find "^%s*#+%s"
    or kind == "code" and fence_start(line) or kind == "item" and item_start(line)
end

function READ.item(lines, at)
  local indent, text = item_start(lines[at])
  local box, rest = (text or ""):match "^%[([ xX])%]%s*(.*)$"
  local parts = { rest or text }
  while text and lines[at + 1] and lines[at + 1]:find "^%s%s" and not starts_block(lines[at + 1]) do
    at = at + 1
    parts[#parts + 1] = trim(lines[at])
  end
  local block = { kind = "item", indent = indent, text = trim(table.concat(parts, " ")) }
  block.checked = box and box ~= " "
  return text and block, at + 1
end

local function read_text(lines, at)
  local parts = { trim(lines[at]) }
  at = at + 1
  while lines[at] and not starts_block(lines[at]) do
    local under = lines[at]:match "^%s*(=+)%s*$" or lines[at]:match "^%s*(%-+)%s*$"
    if under then
      return { kind = "heading", level = under:find "=" and 1 or 2, text = table.concat(parts, "\n") }, at + 1
    end
    parts[#parts + 1], at = trim(lines[at]), at + 1
  end
  return { kind = "text", text = table.concat(parts, "\n") }, at
end

-- The block that a line begins, none for a blank or a rule; and the place after it.
local function read_block(lines, at)
  local line, block, after = lines[at], nil, nil
  local kind = begins(line)
  if READ[kind] then
    block, after = READ[kind](lines, at)
  end
  local is_table = line:find("|", 1, true) and is_delimiter(lines[at + 1]) and (not block or kind == "item")
  if kind == "blank" or not block and line:find "^%s*[-*_][-*_%s]+$" then
    return nil, at + 1
  elseif is_table then
    return read_table(lines, at)
  elseif not block then
    return read_text(lines, at)
  end
  return block, after
end

---@param text string
---@param first_line integer?  the line its first line has in its file, default 1
---@return skillrt.load.Markdown
function M.parse(text, first_line)
  local lines, blocks, at, above = {}, {}, 1, (first_line or 1) - 1
  for line in texts.lines(M.normal(text)) do
    lines[#lines + 1] = line
  end
  while lines[at] do
    local block, after = read_block(lines, at)
    blocks[#blocks + 1] = block
    if block then
      block.line = at + above
    end
    for _, row in ipairs(block and block.rows or {}) do
      row.line = row.line + above
    end
    at = after
  end
  return blocks
end

-- A heading in the form used for comparison: lower case, without marks, numbers and bracketed additions.
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

---The blocks below the first heading that contains one of `words`, up to the next heading of its level.
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

---The text between backticks at the beginning of a text, and the rest.
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
    text = text:gsub("`[^`]*`", function(code)
      return code:gsub("[^\n]", "")
    end)
    for label, at in text:gmatch "%[([^%[%]]*)%]%(%s*()" do
      local target, after = text:match("^<([^<>]+)>()", at)
      if not target then
        target, after = text:match("^([^%s()<>]+)()", at)
      end
      local is_link = target and not text:find("^%s+[^%s\"'()]", after) -- one with a blank in it is none
        and not text:find "^[%s%-+*]*[Bb][Aa][Dd]%**:"
      local _, lines = text:sub(1, at):gsub("\n", "")
      out[#out + 1] = is_link and { target = target, text = label, line = line + lines } or nil
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
