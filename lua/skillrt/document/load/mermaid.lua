-- document/load/mermaid.lua: nodes and edges of a Mermaid graph or state diagram, each with its line.
--
-- Reads the shapes that documents of skills use. Knows no skills. Called by the readers of catalogs and orchestrators.
local lpeg = require "skillrt.base.system".require "lpeg"
local texts = require("skillrt.base.text")
local tables = require "skillrt.base.tables"

local M = {}

local trim = texts.trim

---@class skillrt.load.Graph
---@field kind "flow"|"state"
---@field nodes table<string, { id: string, label: string?, line: integer }>
---@field order string[]   ids of the nodes as they first stand there
---@field edges { from: string, to: string, label: string?, line: integer }[]

local WORDS = tables.words [[style class classDef linkStyle click subgraph end direction note state title
  accTitle accDescr hide scale]]

local P, R, S, C, Cg, Ct = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cg, lpeg.Ct

local blank, letter = S " \t" ^ 0, R("az", "AZ", "09") + "_"
local sign = letter + R "\128\255"

local function up_to(close)
  return C((1 - P(close)) ^ 0)
end

local shape = P(false)
for open, close in ("([ ]) (( )) [[ ]] [( )] {{ }} [ ] ( ) { } > ]"):gmatch "(%S+) (%S+)" do
  local quoted = blank * '"' * up_to '"' * '"' * (1 - P(close)) ^ 0
  shape = shape + open * Cg(quoted + up_to(close), "label") * close
end

-- `ID`, `ID[label]`, `ID(["label"])`, several with "&" between; hyphens belong to a name between letters.
local named = Ct(blank * Cg(C(sign * (sign + ".") ^ 0 * (P "-" * letter ^ 1) ^ 0), "id") * shape ^ -1
  * (":::" * letter ^ 1) ^ -1)
local nodes = Ct(named * (blank * "&" * named) ^ 0)
local arrow = P "<" ^ -1 * "--" * P "-" ^ 0 * S ">ox" + "---" * P "-" ^ 0 + "==" * P "=" ^ 0 * P ">" ^ -1
  + P "<" ^ -1 * "-" * P "." ^ 1 * "-" * P ">" ^ -1

-- A label between two lines of this sign, as in `-- text -->`. A run of the sign is read once: it is the arrow where a
-- ">" follows, else text.
local function between(sign_of_line)
  local one = P(sign_of_line)
  local text = C((1 - one + one ^ 1 * -P ">" + one * #P ">") ^ 0)
  return one * one * S " \t" ^ 1 * text * one ^ 2 * ">"
end

local labelled = between "-" + between "=" + "-." * -S ".-" * up_to ".->" * ".->"
local link = blank * (labelled + arrow * blank * ("|" * up_to "|" * "|" + lpeg.Cc(false)))
local FLOW <const> = Ct(nodes * (Ct(Cg(link, "label")) * nodes) ^ 0)

local function add_node(graph, given, line)
  local node = graph.nodes[given.id]
  if not node then
    node = { id = given.id, line = line }
    graph.nodes[given.id] = node
    graph.order[#graph.order + 1] = given.id
  end
  node.label = node.label or given.label
end

local function read_flow(graph, text, line)
  local parts = FLOW:match(text) or {} -- lists of nodes, and what stands on the way from one to the next
  for i = 1, #parts, 2 do
    for _, one in ipairs(parts[i]) do
      add_node(graph, one, line)
    end
    for _, from in ipairs(parts[i - 2] or {}) do
      for _, to in ipairs(parts[i]) do
        local label = parts[i - 1].label
        label = label and trim(label) or nil
        graph.edges[#graph.edges + 1] = { from = from.id, to = to.id, label = label, line = line }
      end
    end
  end
end

local function read_state(graph, text, line)
  local from, to, label = text:match "^%s*(%S+)%s*%-%->%s*([^%s:]+)(.*)$"
  if not from then
    local id, told = text:match "^%s*([%w_-]+)%s*:(.*)$"
    if id then
      add_node(graph, { id = id, label = trim(told) }, line)
    end
    return
  end
  label = trim(trim(label):gsub("^:", ""))
  add_node(graph, { id = from }, line)
  add_node(graph, { id = to }, line)
  graph.edges[#graph.edges + 1] = { from = from, to = to, label = label ~= "" and label or nil, line = line }
end

-- A line that styles or groups, and says nothing of nodes.
local function is_word(word, line)
  return WORDS[word] and line:find "^%s*%a+[%s;]" or line:find "^%s*end%s*$" or line:find "^%s*}"
end

---The graph of a Mermaid text; nil where it is a diagram of another kind.
---@param text string
---@param first_line integer  of its first line in the file
---@return skillrt.load.Graph?
function M.parse(text, first_line)
  local graph = { nodes = {}, order = {}, edges = {} }
  local line, in_note = first_line - 1, false
  for one in texts.lines(text) do
    line = line + 1
    local now = one:gsub("%%%%.*$", "")
    local word = now:match "^%s*([%a]+)"
    if not graph.kind then
      if word == "graph" or word == "flowchart" then
        graph.kind = "flow"
      elseif now:find "^%s*stateDiagram" then
        graph.kind = "state"
      elseif now:find "%S" then
        return nil
      end
    elseif in_note then
      in_note = not now:find "^%s*end note"
    elseif word == "note" then
      in_note = not now:find(":", 1, true)
    elseif now:find "%S" and not is_word(word, now) then
      local read = graph.kind == "flow" and read_flow or read_state
      read(graph, now, line)
    end
  end
  return graph.kind and graph or nil
end

return M
