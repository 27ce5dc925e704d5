-- document/load/passages.lua: the lines in which a document itself speaks: headings, items, paragraphs, table rows,
-- comments; each with its context. Code is not among them.
--
-- Knows Markdown and no skills. Called by the readers of flow and references, and by check/prompts.
local M = {}

local MAX_LINE <const> = 4000 -- a longer one is taken unchanged

---@class skillrt.load.Passage
---@field kind "heading"|"item"|"text"|"row"|"comment"
---@field text string
---@field line integer
---@field quote boolean    somebody else's words: the line begins with ">"
---@field example boolean  below a heading that marks what follows as an example, not an instruction
---@field box boolean?     an item that is ticked off
---@field indent integer?  of an item
---@field level integer?  of a heading
---@field more boolean?     a further line of the same item or paragraph

-- Headings of examples.
local EXAMPLES = { "example", "sample", "template", "anti%-pattern", "\u{793A}\u{4F8B}", "\u{6A21}\u{677F}" }

local function names_one(title, words)
  title = title:lower()
  for _, word in ipairs(words) do
    if title:find(word) then
      return true
    end
  end
  return false
end

-- What the headings above a block say about it: the nearest of each level counts.
local function place_of(stack)
  for _, heading in ipairs(stack) do
    if heading.example then
      return true
    end
  end
  return false
end

local function push(stack, block)
  while #stack > 0 and stack[#stack].level >= block.level do
    stack[#stack] = nil
  end
  -- a title is about the whole document
  local counts = block.level > 1
  stack[#stack + 1] = {
    level = block.level,
    example = counts and names_one(block.text, EXAMPLES),
  }
end

---All lines of a document, in order.
---@param blocks skillrt.load.Markdown
---@param visit fun(passage: skillrt.load.Passage)
---@param code (fun(block: skillrt.load.Block, example: boolean))?  for blocks of code
function M.each(blocks, visit, code)
  local stack = {}
  local function one(block, text, line, more)
    visit { kind = block.kind == "table" and "row" or block.kind, text = text, line = line,
      quote = text:find "^>" ~= nil, example = place_of(stack), box = block.checked ~= nil or nil,
      indent = block.indent, more = more, level = block.level }
  end
  for _, block in ipairs(blocks) do
    if block.kind == "heading" then
      push(stack, block)
      one(block, block.text, block.line)
    elseif block.kind == "table" then
      for _, row in ipairs(block.rows) do
        one(block, table.concat(row.cells, " | "), row.line)
      end
    elseif block.kind == "code" then
      if code then
        code(block, place_of(stack))
      end
    else
      local line = block.line
      for text in (block.text .. "\n"):gmatch "(.-)\n" do
        one(block, text, line, line > block.line or nil)
        line = line + 1
      end
    end
  end
end

---A text without its code spans, each replaced by a blank.
---@param text string
---@return string
function M.without_code(text)
  return #text <= MAX_LINE and text:find("`", 1, true) and (text:gsub("(`+)[^`].-%1", " ")) or text
end

return M
