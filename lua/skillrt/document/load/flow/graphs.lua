-- document/load/flow/graphs.lua: edges between phases in diagrams, Mermaid or dot, that lead back.
--
-- Reads what two small languages have in common: names, labels, arrows. Called by flow.lua.
local mermaid = require "skillrt.document.load.mermaid"

local M = {}

-- `"Phase 1" -> check [label="..."]`, one statement a line; labels of nodes: `check [label="Phase 2"]`.
local function read_dot(text, first_line)
  local labels, edges, line = {}, {}, first_line - 1
  for one in (text .. "\n"):gmatch "(.-)\n" do
    line = line + 1
    local from, rest = one:match '^%s*"?([^"%-%[]-)"?%s*%->%s*(.*)$'
    if from then
      rest = rest:gsub("%[.*$", ""):gsub(";.*$", "")
      for to in (rest .. "->"):gmatch "(.-)%->" do
        to = to:match '^%s*"?(.-)"?%s*$'
        edges[#edges + 1] = { from = from, to = to, line = line }
        from = to
      end
    else
      local id, label = one:match '^%s*"?([^"%[%]]-)"?%s*%[.-label%s*=%s*"([^"]*)"'
      if id then
        labels[id] = label
      end
    end
  end
  return edges, function(id)
    return labels[id] or id
  end
end

local function read_mermaid(text, first_line)
  local graph = mermaid.parse(text, first_line)
  return graph and graph.edges or {}, function(id)
    local node = graph.nodes[id]
    return node and node.label or id
  end
end

-- The one phase that a node stands for.
local function phase_of(label, mentions)
  local named = mentions:of(label)
  if #named == 1 then
    return named[1]
  end
  return mentions.by_id[label] or mentions:number(label)
end

---The edges of a diagram from a phase to one before it, or to itself.
---@param block skillrt.load.Block
---@param mentions skillrt.load.Mentions
---@return { from: integer, to: integer, line: integer }[]
function M.back(block, mentions)
  local is_dot = block.lang == "dot" or block.lang == "graphviz"
  local read = block.lang == "mermaid" and read_mermaid or is_dot and read_dot
  if not read then
    return {}
  end
  local out, edges, label_of = {}, read(block.text, block.line + 1)
  for _, edge in ipairs(edges) do
    local from, to = phase_of(label_of(edge.from), mentions), phase_of(label_of(edge.to), mentions)
    if from and to and to <= from then
      out[#out + 1] = { from = from, to = to, line = edge.line }
    end
  end
  return out
end

return M
