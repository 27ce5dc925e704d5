-- document/generate/markdown.lua: escapes any text for Markdown and Mermaid, so that it is shown unchanged.
--
-- Table cells, headings, inline code, fences, labels. Pure; knows no config. Called by the other
-- files of generate.
local trim = require("skillrt.base.text").trim

local M = {}

-- Replaces each run of white space with a line break by `instead`.
local function on_one_line(text, instead)
  local joined = text:find "[\r\n]" and text:gsub("%s+", function(run)
    return run:find "[\r\n]" and instead
  end) or text
  return joined
end

---One line: runs of white space with a line break in them become one blank.
---@param text string
---@return string
function M.line(text)
  return trim(on_one_line(text, " "))
end

local BACKSLASH <const> = 92

-- A bar is bare if an even number of backslashes precedes it.
local function without_bars(text)
  local cell = text:gsub("()|", function(at)
    local before = at - 1
    while text:byte(before) == BACKSLASH do
      before = before - 1
    end
    return (at - before) % 2 == 1 and "\\|" or nil
  end)
  return cell
end

---A text inside a table cell: one line, no bare bar.
---@param text string
---@return string
function M.cell(text)
  return without_bars(on_one_line(trim(text), "<br>"))
end

-- The longest run of backticks in a text.
local function longest_run(text)
  local longest = 0
  for run in text:gmatch "`+" do
    longest = math.max(longest, #run)
  end
  return longest
end

local function ticked(line)
  local ticks = ("`"):rep(longest_run(line) + 1)
  local pad = (line == "" or line:sub(1, 1) == "`" or line:sub(-1) == "`") and " " or ""
  return line == "" and "` `" or ticks .. pad .. line .. pad .. ticks
end

---Inline code, between more backticks than the text holds.
---@param text string
---@return string
function M.code(text)
  return ticked(M.line(text))
end

---Inline code inside a table cell.
---@param text string
---@return string
function M.code_cell(text)
  return without_bars(ticked(M.line(text)))
end

---A list as the content of a table cell; "-" for none (R45).
---@param list string[]
---@return string
function M.code_list_cell(list)
  local out = {}
  for i, item in ipairs(list) do
    out[i] = M.code_cell(item)
  end
  return #out > 0 and table.concat(out, ", ") or "-"
end

---A fence that no line of the text can close: three backticks, or more than any run inside.
---@param text string
---@return string
function M.fence(text)
  return ("`"):rep(math.max(3, longest_run(text) + 1))
end

return M
