-- document/graph/mermaid.lua: a graph as a Mermaid flow chart; every label quoted and escaped (F9).
--
-- Called by document/graph/init.lua.
local M = {}

local ENTITIES = { ['"'] = "#quot;", ["#"] = "#35;", ["`"] = "#96;", ["<"] = "#lt;", [">"] = "#gt;", ["&"] = "#amp;" }
local SHAPES = {
  any = { "(", ")" }, terminal = { "[/", "/]" }, optional = { "[", "]" },
  start = { "((", "))" }, ["end"] = { "((", "))" }, action = { "[", "]" }, phase = { "[[", "]]" }, state = { "([",
    "])" },
}
local ARROWS = { condition = "-->", data = "==>", order = "-.->", transition = "-->", rounds = "-->", taken = "==>" }

local function label(text)
  local plain = text:gsub("\r?\n", "\1"):gsub("[%z\2-\31\127]", " "):gsub('["#`<>&]', ENTITIES)
  return '"' .. plain:gsub("\1", "<br/>") .. '"'
end

---@param graph skillrt.graph.Graph
---@return string[]
function M.lines(graph)
  local lines, names = { "flowchart TD" }, {}
  for i, node in ipairs(graph.nodes) do
    names[node.id] = "n" .. i
    local shape = SHAPES[node.kind]
    local text = node.label .. (node.note and "\n" .. node.note or "")
    lines[#lines + 1] = ("    n%d%s%s%s"):format(i, shape[1], label(text), shape[2])
  end
  for _, edge in ipairs(graph.edges) do
    local text = edge.label and ("|%s|"):format(label(edge.label)) or ""
    lines[#lines + 1] = ("    %s %s%s %s"):format(names[edge.from], ARROWS[edge.kind], text, names[edge.to])
  end
  if #graph.legend > 0 then
    lines[#lines + 1] = ("    legend[%s]"):format(label(table.concat(graph.legend, "\n")))
    lines[#lines + 1] = "    style legend text-align:left"
  end
  return lines
end

return M
