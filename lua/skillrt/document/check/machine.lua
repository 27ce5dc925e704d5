-- document/check/machine.lua: the state machine a document describes: its state table, action registry, route,
-- diagram, state file and metrics, each with its lines.
--
-- Reads; judges nothing. Called by transitions.lua.
local drawing = require "skillrt.document.check.drawing"
local json = require "skillrt.base.json"
local route_of = require "skillrt.document.check.route"
local tables = require "skillrt.document.load.tables"

local M = {}

---@class skillrt.check.Machine
---@field file string
---@field states { name: string, line: integer, exits: string[] }[]  the state table
---@field by_state table<string, table>
---@field registry { action: string, from: string[], to: string[], any: boolean, line: integer }[]
---@field by_action table<string, table>
---@field listed boolean        the registry says from where to where
---@field route skillrt.check.Route?
---@field edges { from: string, to: string, line: integer }[]   the diagram
---@field conditions { name: string, text: string, line: integer }[]
---@field data table?           the state file's structure
---@field recoveries { name: string, line: integer }[]
---@field metrics { name: string, line: integer }[]

local function plain(cell)
  return tables.plain(cell or "")
end

local function quoted_names(cell)
  local out = {}
  for name in (cell or ""):gmatch "`([%w_.-]+)`" do
    out[#out + 1] = name
  end
  return out
end

local TITLES = {
  state = { "^state$", "^\u{72B6}\u{6001}$" },
  action = { "^action$", "^\u{52A8}\u{4F5C}$", "^\u{884C}\u{52A8}$" },
  from = { "from" },
  to = { "^to", "to state" },
  exit = { "exit", "^next", "\u{9000}\u{51FA}" },
  condition = { "^condition$", "^\u{6761}\u{4EF6}$" },
  evaluation = { "^evaluation$", "^expression$" },
  metric = { "^metric$", "^\u{6307}\u{6807}$" },
}

local function columns(header)
  local at = {}
  for i, title in ipairs(header) do
    local name = plain(title):lower()
    for kind, patterns in pairs(TITLES) do
      for _, pattern in ipairs(patterns) do
        if name:find(pattern) and not at[kind] then
          at[kind] = i
        end
      end
    end
  end
  return at
end

local function add_registry(self, row, at)
  local from = at.from and quoted_names(row.cells[at.from]) or {}
  local one = {
    action = plain(row.cells[at.action]),
    from = from,
    to = at.to and quoted_names(row.cells[at.to]) or {},
    any = at.from ~= nil and #from == 0,
    line = row.line,
  }
  self.registry[#self.registry + 1] = one
  self.by_action[one.action] = self.by_action[one.action] or one
  self.listed = self.listed or (at.from ~= nil and at.to ~= nil)
end

local function read_table(self, block)
  local at = columns(block.header)
  for _, row in ipairs(block.rows) do
    if at.state == 1 and not at.action then
      local one = { name = plain(row.cells[1]), line = row.line, exits = quoted_names(row.cells[at.exit or 0]) }
      self.states[#self.states + 1] = one
      self.by_state[one.name] = self.by_state[one.name] or one
    elseif at.action == 1 and ((at.from and at.to) or self.in_registry) then
      add_registry(self, row, at)
    elseif at.condition == 1 and at.evaluation then
      self.conditions[#self.conditions + 1] =
        { name = plain(row.cells[1]), text = plain(row.cells[at.evaluation]), line = row.line }
    elseif at.metric == 1 then
      self.metrics[#self.metrics + 1] = { name = plain(row.cells[1]), line = row.line }
    end
  end
end

local function read_code(self, block)
  local text, line = block.text, block.line + 1
  local route = route_of.read(text, line)
  self.route = self.route or route
  if block.lang == "json" then
    local data = json.decode(text)
    if type(data) == "table" and data.state ~= nil then
      self.data = self.data or data
    end
  end
  for at, name in text:gmatch "()return%s+RecoveryAction%.([%u_%d]+)" do
    local below = select(2, text:sub(1, at - 1):gsub("\n", ""))
    self.recoveries[#self.recoveries + 1] = { name = name, line = line + below }
  end
  if not route and block.lang ~= "json" then
    for _, edge in ipairs(drawing.read(text, line)) do
      self.edges[#self.edges + 1] = edge
    end
  end
end

local function add_graph(self, graph)
  for _, edge in ipairs(graph.kind == "state" and graph.edges or {}) do
    if edge.from ~= "[*]" and edge.to ~= "[*]" then
      self.edges[#self.edges + 1] = { from = edge.from, to = edge.to, line = edge.line }
    end
  end
end

---The machine of a document; nil where it describes none.
---@param file string
---@param blocks skillrt.load.Markdown
---@param graphs skillrt.load.Graph[]
---@return skillrt.check.Machine?
function M.read(file, blocks, graphs)
  local self = {
    file = file, states = {}, by_state = {}, registry = {}, by_action = {}, edges = {}, conditions = {},
    recoveries = {}, metrics = {},
  }
  for _, block in ipairs(blocks) do
    if block.kind == "heading" then
      local title = block.text:lower()
      self.in_registry = title:find "registry" ~= nil or (self.in_registry and title:find "action" ~= nil)
    elseif block.kind == "table" then
      read_table(self, block)
    elseif block.kind == "code" then
      read_code(self, block)
    end
  end
  if #self.registry == 0 and not (#self.states > 0 and self.route) then
    return nil
  end
  for _, graph in ipairs(graphs) do
    if graph.file == file then
      add_graph(self, graph)
    end
  end
  return self
end

return M
