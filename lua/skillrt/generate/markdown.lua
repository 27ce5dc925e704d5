-- markdown.lua: puts any text into Markdown and Mermaid so that it is shown as it is.
--
-- Table cells, headings, inline code, fences, labels. Pure; knows no config. Called by the other
-- files of generate.
local M = {}

---One line: runs of white space with a line break in them become one blank.
---@param text string
---@return string
function M.line(text)
  local line = text:gsub("%s*[\r\n]+%s*", " "):match "^%s*(.-)%s*$"
  return line
end

---A text inside a table cell: one line, no bare bar.
---@param text string
---@return string
function M.cell(text)
  local cell = text:match "^%s*(.-)%s*$":gsub("%s*\r?\n%s*", "<br>"):gsub("\\*|", function(bars)
    return #bars % 2 == 1 and bars:sub(1, -2) .. "\\|" or bars
  end)
  return cell
end

-- The longest run of backticks in a text.
local function longest_run(text)
  local longest = 0
  for run in text:gmatch "`+" do
    longest = math.max(longest, #run)
  end
  return longest
end

---Inline code, between more backticks than the text holds.
---@param text string
---@return string
function M.code(text)
  text = M.line(text)
  if text == "" then
    return "` `"
  end
  local ticks = ("`"):rep(longest_run(text) + 1)
  local pad = (text:sub(1, 1) == "`" or text:sub(-1) == "`") and " " or ""
  return ticks .. pad .. text .. pad .. ticks
end

---Inline code inside a table cell.
---@param text string
---@return string
function M.code_cell(text)
  return M.cell(M.code(text))
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

local ENTITIES = { ['"'] = "#quot;", ["#"] = "#35;", ["`"] = "#96;", ["<"] = "#lt;", [">"] = "#gt;", ["&"] = "#amp;" }

---The label of a Mermaid node, with its quotes (F9).
---@param text string
---@return string
function M.label(text)
  return '"' .. M.line(text):gsub('["#`<>&]', ENTITIES) .. '"'
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
