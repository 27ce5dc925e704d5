-- document/load/machine/parts.lua: what the documents of a loop say of a state machine beside its tables: diagrams, the
-- route, names of actions, conditions, the state file, metrics, recoveries; each with its line.
--
-- Reads; judges nothing. Called by load/machine.lua.
local json = require "skillrt.base.json"
local route_of = require "skillrt.document.load.machine.route"
local tables = require "skillrt.document.load.tables"

local M = {}

---@class skillrt.load.MachineParts
---@field edges { from: string, to: string, line: integer, file: string }[]  diagrams
---@field route skillrt.load.Route?
---@field route_file string?
---@field names { action: string, line: integer, file: string }[]  a registry that says no states
---@field conditions { name: string, text: string, line: integer, file: string }[]
---@field data table?     the state file's structure
---@field recoveries { name: string, line: integer, file: string }[]
---@field metrics { name: string, line: integer, file: string }[]

local FIRST = {
  action = { action = true, ["\u{52A8}\u{4F5C}"] = true, ["\u{884C}\u{52A8}"] = true },
  condition = { condition = true, ["\u{6761}\u{4EF6}"] = true },
  metric = { metric = true, ["\u{6307}\u{6807}"] = true },
}

-- What the rows of a table are by its first columns.
local function kind_of(header, in_registry)
  local first, second = tables.plain(header[1] or ""):lower(), tables.plain(header[2] or ""):lower()
  if FIRST.action[first] and in_registry then
    return "names"
  elseif FIRST.condition[first] and (second == "evaluation" or second == "expression") then
    return "conditions"
  end
  return FIRST.metric[first] and "metrics" or nil
end

local function read_table(parts, block, file, in_registry)
  local kind = kind_of(block.header, in_registry)
  for _, row in ipairs(kind and block.rows or {}) do
    local name = tables.plain(row.cells[1] or "")
    table.insert(parts[kind], { name = name, action = name, text = tables.plain(row.cells[2] or ""), line = row.line,
      file = file })
  end
end

local function read_code(parts, block, file)
  local text, line = block.text, block.line + 1
  local route = route_of.read(text, line)
  if route and not parts.route then
    parts.route, parts.route_file = route, file
  end
  if block.lang == "json" then
    local data = json.decode(text)
    parts.data = parts.data or type(data) == "table" and data.state ~= nil and data or nil
    return
  end
  for at, name in text:gmatch "()return%s+RecoveryAction%.([%u_%d]+)" do
    local below = select(2, text:sub(1, at - 1):gsub("\n", ""))
    parts.recoveries[#parts.recoveries + 1] = { name = name, line = line + below, file = file }
  end
end

---@param tree skillrt.load.Tree
---@param prose skillrt.load.Prose
---@return skillrt.load.MachineParts
function M.read(tree, prose)
  local parts = { edges = {}, names = {}, conditions = {}, recoveries = {}, metrics = {} }
  for _, path in ipairs(prose.documents) do
    local in_registry = false
    for _, block in ipairs(path:find "orchestrator[^/]*%.md$" and tree:document(path) or {}) do
      if block.kind == "heading" then
        local title = block.text:lower()
        in_registry = title:find "registry" ~= nil or (in_registry and title:find "action" ~= nil)
      elseif block.kind == "table" then
        read_table(parts, block, path, in_registry)
      elseif block.kind == "code" then
        read_code(parts, block, path)
      end
    end
  end
  for _, graph in ipairs(prose.graphs) do
    for _, edge in ipairs(graph.kind == "state" and graph.file:find "orchestrator[^/]*%.md$" and graph.edges or {}) do
      if edge.from ~= "[*]" and edge.to ~= "[*]" then
        parts.edges[#parts.edges + 1] = { from = edge.from, to = edge.to, line = edge.line, file = graph.file }
      end
    end
  end
  return parts
end

return M
