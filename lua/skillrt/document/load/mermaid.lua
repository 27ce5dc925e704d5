-- document/load/mermaid.lua: nodes and edges of a Mermaid graph or state diagram, each with its line.
--
-- Reads the shapes that documents of skills use; a line it cannot read is named. Knows no
-- skills. Called by the readers of catalogs and orchestrators.
local texts = require("skillrt.base.text")
local M = {}

local trim = texts.trim

---@class skillrt.load.Graph
---@field kind "flow"|"state"
---@field nodes table<string, { id: string, label: string?, line: integer, decides: boolean? }>  it is a rhombus
---@field order string[]   ids of the nodes as they first stand there
---@field edges { from: string, to: string, label: string?, line: integer }[]
---@field unread { text: string, line: integer }[]

local WORDS = {}
for word in ([[style class classDef linkStyle click subgraph end direction note state title
  accTitle accDescr hide scale]]):gmatch "%S+" do
  WORDS[word] = true
end

local SHAPES = {
  { "([", "])" },
  { "((", "))" },
  { "[[", "]]" },
  { "[(", ")]" },
  { "{{", "}}" },
  { "[", "]" },
  { "(", ")" },
  { "{", "}" },
  { ">", "]" },
}

local LINKS = {
  "^%s*<?%-%-+[>ox]%s*()",
  "^%s*%-%-%-+%s*()",
  "^%s*==+>?%s*()",
  "^%s*<?%-%.+%->?%s*()",
}
-- ... and those with words on them: how they begin, how they end, what their line is made of.
local TOLD = {
  { "^%s*%-%-%s+()", "-->", "%-" },
  { "^%s*==%s+()", "==>", "=" },
  { "^%s*%-%.%s*()", ".->" },
}

local function add_node(graph, id, label, line, decides)
  local node = graph.nodes[id]
  if not node then
    node = { id = id, line = line }
    graph.nodes[id] = node
    graph.order[#graph.order + 1] = id
  end
  node.label, node.decides = node.label or label, node.decides or decides
end

-- `ID`, `ID[label]`, `ID(["label"])`; hyphens belong to a name between letters.
local function node_at(graph, text, at, line)
  local start, after = text:match("^%s*()[%w_\128-\255][%w_.\128-\255]*()", at)
  if not start then
    return nil
  end
  local more = after
  while more do
    after, more = more, text:match("^%-[%w_]+()", more)
  end
  local id = text:sub(start, after - 1)
  local label, decides
  for _, shape in ipairs(SHAPES) do
    if text:sub(after, after + #shape[1] - 1) == shape[1] then
      local from = after + #shape[1]
      local quoted, rest = text:match('^%s*"([^"]*)"%s*()', from)
      local first, last = text:find(shape[2], rest or from, true)
      if first then
        label, after, decides = quoted or text:sub(from, first - 1), last + 1, shape[1] == "{" or nil
        break
      end
    end
  end
  add_node(graph, id, label, line, decides)
  return id, text:match("^:::[%w_]+()", after) or after
end

-- `A & B`: several nodes at one end of an edge.
local function nodes_at(graph, text, at, line)
  local ids = {}
  repeat
    local id, after = node_at(graph, text, at, line)
    if not id then
      return nil
    end
    ids[#ids + 1] = id
    at = after
    after = text:match("^%s*&()", at)
    at = after or at
  until not after
  return ids, at
end

local function told_at(text, at)
  for _, one in ipairs(TOLD) do
    local from = text:match(one[1], at)
    local first, last = text:find(one[2], from or #text + 1, true)
    if from and first then
      local label = text:sub(from, first - 1)
      local line = one[3] and texts.without_end(label, one[3]) or label
      return trim(line), text:match("^%s*()", last + 1)
    end
  end
  return nil
end

local function link_at(text, at)
  for _, pattern in ipairs(LINKS) do
    local stop = text:match(pattern, at)
    if stop then
      local label, after = text:match("^|([^|]*)|%s*()", stop)
      return label and trim(label), after or stop
    end
  end
  return told_at(text, at)
end

local function read_flow(graph, text, line)
  local from, at = nodes_at(graph, text, 1, line)
  if not from then
    return false
  end
  while text:find("%S", at) do
    local label, after = link_at(text, at)
    if not after then
      local rest = trim(text:sub(at))
      return rest == "" or rest == ";"
    end
    local to
    to, at = nodes_at(graph, text, after, line)
    if not to then
      return false
    end
    for _, a in ipairs(from) do
      for _, b in ipairs(to) do
        graph.edges[#graph.edges + 1] = { from = a, to = b, label = label, line = line }
      end
    end
    from = to
  end
  return true
end

local function read_state(graph, text, line)
  local from, to, label = text:match "^%s*(%S+)%s*%-%->%s*([^%s:]+)(.*)$"
  if not from then
    local id, told = text:match "^%s*([%w_-]+)%s*:(.*)$"
    if id then
      add_node(graph, id, trim(told), line)
    end
    return id ~= nil or text:find "^%s*[%w_-]+%s*$" ~= nil or text:find "^%s*[{}]%s*$" ~= nil
  end
  label = trim(trim(label):gsub("^:", ""))
  add_node(graph, from, nil, line)
  add_node(graph, to, nil, line)
  graph.edges[#graph.edges + 1] = { from = from, to = to, label = label ~= "" and label or nil, line = line }
  return true
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
  local graph = { nodes = {}, order = {}, edges = {}, unread = {} }
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
      if not read(graph, now, line) then
        graph.unread[#graph.unread + 1] = { text = trim(now), line = line }
      end
    end
  end
  return graph.kind and graph or nil
end

return M
