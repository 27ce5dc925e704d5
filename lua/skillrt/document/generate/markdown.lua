-- document/generate/markdown.lua: puts any text into Markdown and Mermaid so that it is shown as it is.
--
-- Table cells, headings, inline code, fences, labels. Pure; knows no config. Called by the other
-- files of generate.
local M = {}

-- Most texts need nothing: looking for one byte costs far less than a pattern over the whole text.
local function has(text, byte)
  return text:find(byte, 1, true) ~= nil
end

local function trim(text)
  if text:find "^%S" and text:find("%S", -1) then
    return text
  end
  local first = text:find "%S"
  return first and text:match("^.*%S", first) or ""
end

-- Each run of white space with one of these bytes in it becomes `instead`.
local function without_breaks(text, breaks, instead)
  local joined = text:gsub("%s+", function(run)
    return run:find(breaks) and instead
  end)
  return joined
end

---One line: runs of white space with a line break in them become one blank.
---@param text string
---@return string
function M.line(text)
  if has(text, "\n") or has(text, "\r") then
    text = without_breaks(text, "[\r\n]", " ")
  end
  return trim(text)
end

local BACKSLASH <const> = 92

-- A bar is bare where an even number of backslashes stands before it.
local function without_bars(text)
  if not has(text, "|") then
    return text
  end
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
  local cell = trim(text)
  if has(cell, "\n") then
    cell = without_breaks(cell, "\n", "<br>")
  end
  return without_bars(cell)
end

-- The longest run of backticks in a text.
local function longest_run(text)
  local longest, at = 0, text:find("`", 1, true)
  while at do
    local _, stop = text:find("^`+", at)
    longest = math.max(longest, stop - at + 1)
    at = text:find("`", stop + 1, true)
  end
  return longest
end

local function ticked(line)
  if line == "" then
    return "` `"
  elseif not has(line, "`") then
    return "`" .. line .. "`"
  end
  local ticks = ("`"):rep(longest_run(line) + 1)
  local pad = (line:sub(1, 1) == "`" or line:sub(-1) == "`") and " " or ""
  return ticks .. pad .. line .. pad .. ticks
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

---All three of a text: a line, inline code, inline code inside a table cell.
---@param text string
---@return string line
---@return string code
---@return string cell
function M.code_forms(text)
  local line = M.line(text)
  local code = ticked(line)
  return line, code, without_bars(code)
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

-- Words that Mermaid takes for itself.
local TAKEN = {}
for word in ("START END end graph subgraph flowchart style class classDef click default linkStyle"):gmatch "%S+" do
  TAKEN[word] = true
end

---Mermaid names for ids: letters, digits and "_" only, each of its own (F9).
---@param ids string[]
---@return table<string, string>
function M.node_names(ids)
  local names, used = {}, {}
  for _, id in ipairs(ids) do
    local base = id:gsub("[^%w_]", "_")
    if TAKEN[base] then
      base = base .. "_"
    end
    local name, count = base, 1
    while used[name] do
      count = count + 1
      name = base .. "_" .. count
    end
    names[id], used[name] = name, true
  end
  return names
end

return M
