-- document/load/orchestrator.lua: documents about the whole loop: orchestrator, catalog and SKILL.md: action
-- definitions as data, graphs, termination conditions, limits, which actions code routes to, and of a state machine its
-- route, state file and recoveries.
--
-- Decision code is not run: what it names is collected, that it exists is told. Called by prose.lua.
local condition = require "skillrt.document.load.condition"
local js = require "skillrt.document.load.js"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.load.markdown"
local mermaid = require "skillrt.document.load.mermaid"
local route_of = require "skillrt.document.load.machine.route"
local words = require "skillrt.document.load.words"
local ends = require "skillrt.skill.ends"

local M = {}

---@class skillrt.load.Orchestrator
---@field definitions { value: table, line: integer, file: string }[]  entries of ACTION_CATALOG
---@field graphs skillrt.load.Graph[]
---@field terminate { text: string, condition: string?, line: integer, file: string, problem: string?, hint: string? }[]
---@field limits table<string, integer>
---@field routes { to: string, line: integer, file: string, weak: boolean? }[]  weak: perhaps no action
---@field code { line: integer, file: string, name: string }[]  decision functions
---@field unread { line: integer, file: string, what: string }[]
---@field route skillrt.load.Route?
---@field data table?  the state file's structure
---@field recoveries { name: string, line: integer, file: string }[]

-- The line of each place in a block, asked in their order; a catalog may be of many thousand lines.
local function lines_of(block)
  local line, last = block.line + 1, 1
  return function(at)
    if at < last then
      line, last = block.line + 1, 1
    end
    line, last = line + select(2, block.text:sub(last, at - 1):gsub("\n", "")), at
    return line
  end
end

local function is_definition(value)
  return type(value) == "table" and type(value.id) == "string" and (value.preconditions or value.effects or value.name)
end

-- A list of objects with ids, or an object with such a list below `actions`.
local function add_definitions(out, value, block, at, file)
  local list = type(value) == "table" and (value.actions or value) or {}
  local line_of = lines_of(block)
  for _, one in ipairs(type(list) == "table" and is_definition(list[1]) and list or {}) do
    if is_definition(one) then
      local found = block.text:find(('"%s"'):format(one.id), at, true) or block.text:find(one.id, at, true)
      at = found or at -- they stand in the order of the list
      out.definitions[#out.definitions + 1] = { value = one, line = line_of(at), file = file }
    end
  end
end

local LIMITS = { MAX_ITERATIONS = "max_iterations", MAX_ERRORS = "max_errors", MAX_RETRIES = "max_retries" }

local function read_code(out, block, file)
  local text, line_of = block.text, lines_of(block)
  local function add(list, at, one)
    one.line, one.file = line_of(at), file
    list[#list + 1] = one
  end
  if block.lang == "json" then
    local value = json.decode(text)
    out.data = out.data or type(value) == "table" and value.state ~= nil and value or nil
    return add_definitions(out, value, block, 1, file)
  end
  local catalog = text:match "ACTION_CATALOG%s*=%s*()[%[{]"
  local value = catalog and js.literal(text, catalog)
  if catalog and value == nil then
    add(out.unread, catalog, { what = "ACTION_CATALOG is no plain list" })
  end
  add_definitions(out, value, block, catalog, file)
  for at, _, name in text:gmatch "()(['\"])(action%-[%w_.-]+)%2" do
    add(out.routes, at, { to = name })
  end
  for at, _, name in text:gmatch "()return%s+(['\"])([%w_][%w_.-]*)%2" do
    if not name:find "^action%-" then
      add(out.routes, at, { to = name, weak = true })
    end
  end
  for name, limit in text:gmatch "(MAX_[%u]+)%s*=%s*(%d+)" do
    out.limits[LIMITS[name] or name] = out.limits[LIMITS[name]] or math.tointeger(tonumber(limit))
  end
  for at, name in text:gmatch "()function%s+([%a_][%w_]*)%s*%(" do
    if name:find "[Ss]elect" or name:find "^route" or name:find "[Nn]extAction" then
      add(out.code, at, { name = name })
    end
  end
  out.route = out.route or route_of.read(text, block.line + 1)
  for at, name in text:gmatch "()return%s+RecoveryAction%.([%u_%d]+)" do
    add(out.recoveries, at, { name = name })
  end
end

-- What a test of the runtime's own fields means in its words (R73).
local function builtin_of(text)
  local plain = text:gsub("^state%??%.", ""):gsub("%s+", " ")
  local status = plain:match "^status ===? ['\"](.-)['\"]$"
  local count = plain:match "^error_count >= (%d+)$"
  local limit = plain:match "^iteration >= (.+)$" or plain:match "^iteration_count >= (.+)$"
  if ends.is_builtin[plain] then
    return plain
  elseif status == "completed" or status == "user_exit" then
    return status == "completed" and "task_completed" or status
  elseif count then
    return "error_limit", "max_errors", math.tointeger(tonumber(count))
  elseif limit then
    return "max_iterations", "max_iterations", math.tointeger(tonumber(limit))
  end
end

local function add_termination(out, text, line, file, is_field)
  local code = markdown.code_span(text) or text:match "`([^`]+)`"
  local builtin, limit, value = builtin_of(code or text)
  if limit and value then
    out.limits[limit] = value
  end
  local told = builtin and { text = text, condition = builtin }
    or condition.item(code and "`" .. code .. "`" or text, is_field)
  if told then
    told.line, told.file = line, file
    out.terminate[#out.terminate + 1] = told
  end
end

---@param blocks skillrt.load.Markdown
---@param file string
---@param is_field (fun(name: string): boolean)?
---@return skillrt.load.Orchestrator
function M.read(blocks, file, is_field)
  local out = { definitions = {}, graphs = {}, terminate = {}, limits = {}, routes = {}, code = {}, unread = {},
    recoveries = {} }
  for _, block in ipairs(blocks) do
    if block.kind == "code" and block.lang == "mermaid" then
      local graph = mermaid.parse(block.text, block.line + 1)
      out.graphs[#out.graphs + 1] = graph
      if graph then
        graph.file = file
      end
    elseif block.kind == "code" then
      read_code(out, block, file)
    end
  end
  for _, block in ipairs(markdown.section(blocks, words.TERMINATION) or {}) do
    if block.kind == "item" then
      add_termination(out, block.text, block.line, file, is_field)
    end
  end
  return out
end

return M
