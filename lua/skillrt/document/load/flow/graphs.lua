-- document/load/flow/graphs.lua: the ways between phases that diagrams show, in Mermaid or dot: those that lead
-- back, and those that leave phases out where a rhombus decides so.
--
-- Reads what two small languages have in common: names, labels, arrows. Follows nodes that are no phases to the phases
-- behind them. Called by flow.lua.
local expr = require "skillrt.expr"
local mermaid = require "skillrt.document.load.mermaid"
local tables = require "skillrt.base.tables"

local M = {}

local MAX_WAY <const> = 12 -- edges from one phase to another; a longer way is none
local MAX_WAYS <const> = 200

-- `"Phase 1" -> check [label="..."]`, one statement a line; labels of nodes: `check [label="Phase 2", shape=diamond]`.
local function read_dot(text, first_line)
  local nodes, edges, line = {}, {}, first_line - 1
  for one in (text .. "\n"):gmatch "(.-)\n" do
    line = line + 1
    local from, rest = one:match '^%s*"?([^"%-%[]-)"?%s*%->%s*(.*)$'
    if from then
      local label = rest:match 'label%s*=%s*"([^"]*)"'
      rest = rest:gsub("%[.*$", ""):gsub(";.*$", "")
      for node in (rest .. "->"):gmatch "(.-)%->" do
        local to = node:match '^%s*"?(.-)"?%s*$'
        edges[#edges + 1] = { from = from, to = to, line = line, label = label }
        from = to
      end
    else
      local id, rest_of = one:match '^%s*"?([^"%[%]]-)"?%s*%[(.*)$'
      if id then
        nodes[id] = { label = rest_of:match 'label%s*=%s*"([^"]*)"',
          decides = rest_of:find "shape%s*=%s*\"?M?diamond" ~= nil }
      end
    end
  end
  return { edges = edges, nodes = nodes }
end

-- The one phase that a node stands for.
local function phase_of(label, mentions)
  local named = mentions:of(label)
  if #named == 1 then
    return named[1]
  end
  return mentions.by_id[label] or mentions:number(label)
end

local SIGNS = { ["&gt;"] = ">", ["&lt;"] = "<", ["#gt;"] = ">", ["#lt;"] = "<", ["\u{2265}"] = ">=",
  ["\u{2264}"] = "<=", ["&amp;"] = "&" }

-- A condition that a label is: it compares something; a word alone is none.
local function condition_in(label)
  local text = (label or ""):gsub("<br%s*/?>", " ")
  for sign, plain in pairs(SIGNS) do
    text = text:gsub(sign, plain)
  end
  local max = text:match "at most (%d+)" or text:match "max%.? (%d+)"
  text = text:gsub(",?%s*%(?at most %d+.*$", ""):gsub(",?%s*%(?max%.? %d+.*$", "")
  text = text:gsub("[`\"]", ""):gsub("^%s*[Ii]f%s+", ""):gsub("^%s*", ""):gsub("[%s?]*$", "")
  local compares = text:find "[=<>]" or text:find "^![%a_]" or text:find "%.includes%("
  return compares and #text < 200 and expr.compile(text) and text or nil, tonumber(max)
end

local YES = tables.words "yes y true pass ok \u{662F}"
local NO = tables.words "no n false fail \u{5426}"

-- What a way says: `again`, the condition under which it is taken, or `over`, under which it is not; `said`: it says
-- something that may be read or not.
local function said_on(way, nodes)
  local out, count = {}, 0
  for _, edge in ipairs(way) do
    local node, word = nodes[edge.from], (edge.label or ""):lower():gsub("[%s.!`]", "")
    local own, max = condition_in(edge.label)
    local asked, most = condition_in(node and node.decides and node.label)
    out.max = out.max or max or most
    if own then
      out.again, count = own, count + 1
    elseif asked and YES[word] then
      out.again, count = asked, count + 1
    elseif asked and NO[word] then
      out.over, count = asked, count + 1
    elseif edge.label and edge.label ~= "" or node and node.decides then
      out.prose = true
    end
  end
  if count ~= 1 or out.prose then
    out.again, out.over = nil, nil
  end
  return out
end

local function from_of(graph)
  local out = {}
  for _, edge in ipairs(graph.edges) do
    out[edge.from] = out[edge.from] or {}
    table.insert(out[edge.from], edge)
  end
  return out
end

-- Every way from a phase to the next phases, over nodes that are none.
local function ways_from(graph, id, is_phase, visit)
  local edges_of, way, on, count = from_of(graph), {}, {}, 0
  local function go(at)
    for _, edge in ipairs(edges_of[at] or {}) do
      count = count + 1
      if count < MAX_WAYS and #way < MAX_WAY and not on[edge.to] then
        way[#way + 1] = edge
        if is_phase(edge.to) then
          visit(way, edge)
        else
          on[edge.to] = true
          go(edge.to)
          on[edge.to] = nil
        end
        way[#way] = nil
      end
    end
  end
  go(id)
end

---@class skillrt.load.Way  from a phase to one before it, or to one behind that it is not followed by
---@field from integer
---@field to integer
---@field line integer
---@field again string?  the condition under which it is taken
---@field over string?   ... under which it is not
---@field max integer?
---@field decides boolean?  a rhombus stands on it

---The ways of a diagram from a phase to one before it, to itself, or past others.
---@param block skillrt.load.Block
---@param mentions skillrt.load.Mentions
---@return skillrt.load.Way[]
function M.ways(block, mentions)
  local is_dot = block.lang == "dot" or block.lang == "graphviz"
  local read = block.lang == "mermaid" and mermaid.parse or is_dot and read_dot
  local graph = read and read(block.text, block.line + 1)
  local out, phases, seen = {}, {}, {}
  local function phase(id)
    if phases[id] == nil then
      local node = graph.nodes[id]
      phases[id] = not (node and node.decides) and phase_of(node and node.label or id, mentions) or false
    end
    return phases[id]
  end
  for _, edge in ipairs(graph and graph.edges or {}) do
    local from = phase(edge.from)
    if from and not seen[edge.from] then
      seen[edge.from] = true
      ways_from(graph, edge.from, phase, function(way, last)
        local to = phase(last.to)
        local key = ("%d %d"):format(from, to)
        if (to <= from or to > from + 1) and not seen[key] then
          seen[key] = true
          local said = said_on(way, graph.nodes)
          local decides = #way > 1 and graph.nodes[way[#way].from] and graph.nodes[way[#way].from].decides
          out[#out + 1] = { from = from, to = to, line = last.line, again = said.again, over = said.over,
            max = said.max, decides = decides or nil }
        end
      end)
    end
  end
  return out
end

return M
