-- document/load/mermaid.lua: the nodes of a Mermaid graph, the edges of a state diagram, each with its line.
--
-- Reads the shapes that skill documents use. Knows no skills. Called by the readers of catalogs and orchestrators.
local lpeg = require "skillrt.base.system".require "lpeg"
local texts = require("skillrt.base.text")
local tables = require "skillrt.base.tables"

local M = {}

---@class skillrt.load.Graph
---@field kind "flow"|"state"
---@field nodes table<string, { label: string?, line: integer }>  of a flow
---@field order string[]   ids of the nodes in the order of their first occurrence
---@field edges { from: string, to: string, line: integer }[]  of states

local WORDS = tables.words [[style class classDef linkStyle click subgraph end direction note state title
  accTitle accDescr hide scale]]

local P, R, S, C, Cg, Ct = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cg, lpeg.Ct

local blank, letter = S " \t" ^ 0, R("az", "AZ", "09") + "_"
local sign = letter + R "\128\255"

local function up_to(close)
  return (1 - P(close)) ^ 0
end

local shape = P(false)
for open, close in ("([ ]) (( )) [[ ]] [( )] {{ }} [ ] ( ) { } > ]"):gmatch "(%S+) (%S+)" do
  local quoted = blank * '"' * C(up_to '"') * '"' * up_to(close)
  shape = shape + open * Cg(quoted + C(up_to(close)), "label") * close
end

-- `ID`, `ID[label]`, `ID(["label"])`, several with "&" between; hyphens belong to a name between letters.
local named = Ct(blank * Cg(C(sign * (sign + ".") ^ 0 * (P "-" * letter ^ 1) ^ 0), "id") * shape ^ -1
  * (":::" * letter ^ 1) ^ -1)
local nodes = named * (blank * "&" * named) ^ 0
local arrow = P "<" ^ -1 * "--" * P "-" ^ 0 * S ">ox" + "---" * P "-" ^ 0 + "==" * P "=" ^ 0 * P ">" ^ -1
  + P "<" ^ -1 * "-" * P "." ^ 1 * "-" * P ">" ^ -1

-- A label between two lines of this sign, as in `-- text -->`. A run of the sign is read once: it is the arrow if a
-- ">" follows, else text.
local function between(sign_of_line)
  local one = P(sign_of_line)
  return one * one * S " \t" ^ 1 * (1 - one + one ^ 1 * -P ">" + one * #P ">") ^ 0 * one ^ 2 * ">"
end

local labelled = between "-" + between "=" + "-." * -S ".-" * up_to ".->" * ".->"
local link = blank * (labelled + arrow * blank * ("|" * up_to "|" * "|") ^ -1)
local FLOW <const> = Ct(nodes * (link * nodes) ^ 0)

local function read_flow(graph, text, line)
  for _, one in ipairs(FLOW:match(text) or {}) do
    local node = graph.nodes[one.id]
    if not node then
      node = { line = line }
      graph.nodes[one.id] = node
      graph.order[#graph.order + 1] = one.id
    end
    node.label = node.label or one.label
  end
end

local function read_state(graph, text, line)
  local from, to = text:match "^%s*(%S+)%s*%-%->%s*([^%s:]+)"
  graph.edges[#graph.edges + 1] = from and { from = from, to = to, line = line }
end

-- A line that styles or groups, without nodes.
local function is_word(word, line)
  return WORDS[word] and line:find "^%s*%a+[%s;]" or line:find "^%s*end%s*$" or line:find "^%s*}"
end

---The graph of a Mermaid text; nil: it is a diagram of another kind.
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
