-- document/graph/dot.lua: a graph in graphviz's language; every text quoted and escaped.
--
-- Called by document/graph/init.lua.
local M = {}

local NODES = {
  start = 'shape=circle, style=filled, fillcolor="#d9ead3"',
  ["end"] = 'shape=doublecircle, style=filled, fillcolor="#eeeeee"',
  action = 'shape=box, style="rounded,filled", fillcolor="#e8f0fe"',
  any = 'shape=plaintext',
  terminal = 'shape=box, style="rounded,filled,bold", fillcolor="#eeeeee"',
  optional = 'shape=box, style="rounded,filled,dashed", fillcolor="#f5f8ff"',
  phase = 'shape=box, style=filled, fillcolor="#fff3e0"',
  state = 'shape=ellipse, style=filled, fillcolor="#f3e5f5"',
}
local EDGES = { condition = "", data = "style=bold", order = "style=dashed", transition = 'color="#7b1fa2"',
  rounds = 'color="#c62828", constraint=false',
  taken = 'color="#7b1fa2", penwidth=3' }

local function quoted(text)
  local plain = text:gsub("[%z\1-\9\11-\31\127]", " "):gsub("[\\\"]", "\\%0"):gsub("\n", "\\n")
  return '"' .. plain .. '"'
end

---@param graph skillrt.graph.Graph
---@return string[]
function M.lines(graph)
  local lines = {
    "digraph " .. quoted(graph.name) .. " {",
    "  rankdir=TB;",
    '  node [fontname="sans-serif", fontsize=11];',
    '  edge [fontname="sans-serif", fontsize=9];',
  }
  local names = {}
  for i, node in ipairs(graph.nodes) do
    names[node.id] = "n" .. i
    local text = node.label .. (node.note and "\n" .. node.note or "")
    lines[#lines + 1] = ("  n%d [label=%s, %s];"):format(i, quoted(text), NODES[node.kind])
  end
  for _, edge in ipairs(graph.edges) do
    local look = {}
    look[1] = edge.label and "label=" .. quoted(edge.label) or nil
    look[#look + 1] = EDGES[edge.kind] ~= "" and EDGES[edge.kind] or nil
    lines[#lines + 1] = ("  %s -> %s%s;"):format(names[edge.from], names[edge.to],
      #look > 0 and " [" .. table.concat(look, ", ") .. "]" or "")
  end
  if #graph.legend > 0 then
    lines[#lines + 1] = ("  legend [label=%s, shape=note, fontsize=9, style=filled, fillcolor=\"#fffff0\"];"):format(
      quoted(table.concat(graph.legend, "\n")):gsub("\\n", "\\l"):gsub('"$', '\\l"'))
  end
  lines[#lines + 1] = "}"
  return lines
end

return M
