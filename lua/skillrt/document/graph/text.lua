-- document/graph/text.lua: a graph as lines for a terminal, none wider than it: each node, its notes and its targets;
-- and wrapping of texts. Called by document/graph/init.lua and svg.lua.

local text_of = require "skillrt.base.terminal_text"

local M = {}

-- The longest prefix of a text that fits, at least one letter.
local function beginning(text, columns)
  local last = utf8.offset(text, 2) - 1
  for at in utf8.codes(text) do
    if text_of.width(text:sub(1, at - 1)) > columns then
      break
    end
    last = math.max(last, at - 1)
  end
  return text:sub(1, last)
end

---The lines of a text, escaped, none wider than `columns`.
---@param text string
---@param columns integer
---@return string[]
function M.wrapped(text, columns)
  local out = {}
  for _, given in ipairs(text_of.lines(text)) do
    local line = ""
    for word in given:gmatch "%S+" do
      if line ~= "" and text_of.width(line) + 1 + text_of.width(word) > columns then
        out[#out + 1], line = line, ""
      end
      line = line == "" and word or line .. " " .. word
      while text_of.width(line) > columns do
        local part = beginning(line, columns)
        out[#out + 1], line = part, line:sub(#part + 1)
      end
    end
    out[#out + 1] = line ~= "" and line or nil
  end
  return out
end

---@param graph skillrt.graph.Graph
---@param columns integer
---@return string[]
function M.lines(graph, columns)
  local out, names, ways = {}, {}, {}
  local function add(before, text)
    for i, line in ipairs(M.wrapped(text, columns - #before)) do
      out[#out + 1] = (i == 1 and before or (" "):rep(#before)) .. line
    end
  end
  for _, node in ipairs(graph.nodes) do
    names[node.id], ways[node.id] = node.label, {}
  end
  for _, edge in ipairs(graph.edges) do
    table.insert(ways[edge.from], edge)
  end
  for _, node in ipairs(graph.nodes) do
    add("", node.label)
    for note in (node.note or ""):gmatch "[^\n]+" do
      add("    ", note)
    end
    for _, edge in ipairs(ways[node.id]) do
      add("  -> ", names[edge.to] .. (edge.label and (" (%s)"):format(edge.label:gsub("%s*\n%s*", ", ")) or ""))
    end
  end
  return out
end

return M
