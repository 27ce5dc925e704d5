-- markdown.lua: a Markdown text as a list of blocks, each with its line: headings, list items
-- with their boxes, tables, fenced code, paragraphs.
--
-- Reads what documents of skills are made of, not all of CommonMark: no inline markup, no
-- quotes inside lists. Knows nothing of skills. Called by the readers of load/*.
local M = {}

---@class skillrt.load.Block
---@field kind "heading"|"item"|"table"|"code"|"text"
---@field line integer
---@field text string?      heading, item, code, text
---@field level integer?    heading
---@field indent integer?   item
---@field checked boolean?  item with a box
---@field lang string?      code: the first word of its info
---@field closed boolean?   code
---@field nested integer?   code: a line that looks like another fence of the same length (F65)
---@field header string[]?  table
---@field rows { cells: string[], line: integer }[]?  table

---@class skillrt.load.Markdown
---@field [integer] skillrt.load.Block

---A text without a byte order mark, with "\n" at the end of each line.
---@param text string
---@return string
function M.normal(text)
  text = text:gsub("^\239\187\191", "")
  return text:find("\r", 1, true) and text:gsub("\r\n?", "\n") or text
end

local function trim(text)
  return text:match "^%s*(.-)%s*$"
end

local function lines_of(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line
  end
  return lines
end

local function fence_start(line)
  if not line:find "^%s*[`~]" then
    return nil
  end
  local mark, info = line:match "^%s*(```+)([^`]*)$"
  if not mark then
    mark, info = line:match "^%s*(~~~+)(.*)$"
  end
  return mark, info and trim(info)
end

local function read_fence(lines, at, mark, info)
  local block = { kind = "code", lang = info:match "^[^%s{]*", info = info, line = at, closed = false }
  local char, first = mark:sub(1, 1), at + 1
  local last = #lines
  for i = first, #lines do
    local other, more = fence_start(lines[i])
    if other and other:sub(1, 1) == char and #other >= #mark then
      if more == "" then
        last, block.closed = i - 1, true
        break
      elseif #other == #mark then
        block.nested = block.nested or i
      end
    end
  end
  block.text = table.concat(lines, "\n", first, last)
  return block, block.closed and last + 2 or last + 1
end

---The cells of a table's line; "\|" is a bar in a cell.
---@param line string
---@return string[]
function M.cells(line)
  local text = trim(line):gsub("\\\\", "\2"):gsub("\\|", "\1")
  text = text:gsub("^|", ""):gsub("|$", "")
  local cells = {}
  for cell in (text .. "|"):gmatch "(.-)|" do
    cells[#cells + 1] = trim(cell):gsub("\1", "|"):gsub("\2", "\\\\")
  end
  return cells
end

local function is_delimiter(line)
  return line:find "^%s*|?[%s:|-]+$" ~= nil and line:find("-", 1, true) ~= nil and line:find("|", 1, true) ~= nil
end

local function read_table(lines, at)
  local block = { kind = "table", line = at, header = M.cells(lines[at]), rows = {} }
  local i = at + 2
  while lines[i] and lines[i]:find("|", 1, true) and lines[i]:find "%S" do
    block.rows[#block.rows + 1] = { cells = M.cells(lines[i]), line = i }
    i = i + 1
  end
  return block, i
end

local function item_start(line)
  local indent, text = line:match "^(%s*)[-*+]%s+(.*)$"
  if not indent then
    indent, text = line:match "^(%s*)%d+[.)]%s+(.*)$"
  end
  return indent and #indent:gsub("\t", "    "), text
end

local function starts_block(line)
  return not line:find "%S" or line:find "^%s*#+%s" or fence_start(line) or item_start(line) or line:find "^%s*|"
end

local function read_item(lines, at, indent, text)
  local block = { kind = "item", line = at, indent = indent }
  local box, rest = text:match "^%[([ xX])%]%s*(.*)$"
  if box then
    block.checked, text = box ~= " ", rest
  end
  local i = at + 1
  while lines[i] and lines[i]:find "^%s%s" and not starts_block(lines[i]) do
    text, i = text .. " " .. trim(lines[i]), i + 1
  end
  block.text = trim(text)
  return block, i
end

local function read_text(lines, at)
  local text, i = trim(lines[at]), at + 1
  while lines[i] and not starts_block(lines[i]) do
    local under = lines[i]:match "^%s*(=+)%s*$" or lines[i]:match "^%s*(%-+)%s*$"
    if under then
      return { kind = "heading", line = at, level = under:sub(1, 1) == "=" and 1 or 2, text = text }, i + 1
    end
    text, i = text .. "\n" .. trim(lines[i]), i + 1
  end
  return { kind = "text", line = at, text = text }, i
end

local function after_comment(lines, at)
  for i = at, #lines do
    if lines[i]:find("-->", 1, true) then
      return i + 1
    end
  end
  return #lines + 1
end

local function read_block(lines, at)
  local line = lines[at]
  local mark, info = fence_start(line)
  if mark then
    return read_fence(lines, at, mark, info)
  elseif not line:find "%S" or line:find "^%s*[-*_][-*_%s]+$" and not item_start(line) then
    return nil, at + 1
  elseif line:find "^%s*<!%-%-" then
    return nil, after_comment(lines, at)
  end
  local marks, title = line:match "^%s?%s?%s?(#+)%s+(.-)%s*#*%s*$"
  if marks and #marks <= 6 then
    return { kind = "heading", line = at, level = #marks, text = title }, at + 1
  elseif line:find("|", 1, true) and lines[at + 1] and is_delimiter(lines[at + 1]) then
    return read_table(lines, at)
  end
  local indent, text = item_start(line)
  if indent then
    return read_item(lines, at, indent, text)
  end
  return read_text(lines, at)
end

---@param text string
---@param first_line integer?  the line its first line has in its file, default 1
---@return skillrt.load.Markdown
function M.parse(text, first_line)
  local lines, blocks, at = lines_of(M.normal(text)), {}, 1
  local shift = (first_line or 1) - 1
  while at <= #lines do
    local block
    block, at = read_block(lines, at)
    if block then
      block.line = block.line + shift
      block.nested = block.nested and block.nested + shift
      for _, row in ipairs(block.rows or {}) do
        row.line = row.line + shift
      end
      blocks[#blocks + 1] = block
    end
  end
  return blocks
end

-- A heading as it is compared: small letters, without marks, numbers and what brackets add.
local function plain(title)
  return trim((title:lower():gsub("[`*_#]", ""):gsub("^[%d.%s]+", "")))
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
      local title = plain(block.text)
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
  local first, last = text:find("%f[`]" .. marks .. "%f[^`]", from)
  if not first then
    return nil, text
  end
  return trim(text:sub(from, first - 1)), text:sub(last + 1)
end

---The targets of links `[text](target)` outside code, with their lines.
---@param blocks skillrt.load.Markdown
---@return { target: string, text: string, line: integer }[]
function M.links(blocks)
  local out = {}
  local function collect(text, line)
    if not text:find("](", 1, true) then
      return
    end
    for label, target in text:gsub("`[^`]*`", ""):gmatch "%[([^%[%]]*)%]%(%s*<?([^%s()<>]+)" do
      out[#out + 1] = { target = target, text = label, line = line }
    end
  end
  for _, block in ipairs(blocks) do
    if block.kind == "table" then
      for _, row in ipairs(block.rows) do
        collect(table.concat(row.cells, " "), row.line)
      end
    elseif block.kind ~= "code" and block.text then
      collect(block.text, block.line)
    end
  end
  return out
end

return M
