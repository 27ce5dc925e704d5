-- document/load/orchestrator.lua: documents about the whole loop: orchestrator, catalog and SKILL.md: action
-- definitions as data, graphs, termination conditions, limits, and which actions code routes to.
--
-- Decision code is not run: what it names is collected, that it exists is told. Called by prose.lua.
local condition = require "skillrt.document.load.condition"
local js = require "skillrt.document.load.js"
local json = require "skillrt.base.json"
local markdown = require "skillrt.document.load.markdown"
local mermaid = require "skillrt.document.load.mermaid"
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

-- Where each line of a block begins; a catalog may be of many thousand lines.
local starts_of = setmetatable({}, { __mode = "k" })

local function line_of(block, at)
  local starts = starts_of[block]
  if not starts then
    starts = { 1 }
    for after in block.text:gmatch "\n()" do
      starts[#starts + 1] = after
    end
    starts_of[block] = starts
  end
  local low, high = 1, #starts
  while low < high do
    local middle = (low + high + 1) // 2
    if starts[middle] <= at then
      low = middle
    else
      high = middle - 1
    end
  end
  return block.line + low
end

local function is_definition(value)
  return type(value) == "table" and type(value.id) == "string" and (value.preconditions or value.effects or value.name)
end

-- A list of objects with ids, or an object with such a list below `actions`.
local function add_definitions(out, value, block, at, file)
  local list = type(value) == "table" and (value.actions or value) or {}
  if type(list) ~= "table" or not is_definition(list[1]) then
    return false
  end
  for _, one in ipairs(list) do
    if is_definition(one) then
      local found = block.text:find(('"%s"'):format(one.id), at, true) or block.text:find(one.id, at, true)
      at = found or at -- they stand in the order of the list
      out.definitions[#out.definitions + 1] = { value = one, line = line_of(block, at), file = file }
    end
  end
  return true
end

local function read_definitions(out, block, file)
  if block.lang == "json" then
    local value = json.decode(block.text)
    return value ~= nil and add_definitions(out, value, block, 1, file)
  end
  local at = block.text:match "ACTION_CATALOG%s*=%s*()[%[{]"
  local value = at and js.literal(block.text, at)
  if at and value == nil then
    out.unread[#out.unread + 1] = { line = line_of(block, at), file = file, what = "ACTION_CATALOG is no plain list" }
  end
  return value ~= nil and add_definitions(out, value, block, at, file)
end

local LIMITS = { MAX_ITERATIONS = "max_iterations", MAX_ERRORS = "max_errors", MAX_RETRIES = "max_retries" }

local function read_code(out, block, file)
  local text = block.text
  for at, _, name in text:gmatch "()(['\"])(action%-[%w_.-]+)%2" do
    out.routes[#out.routes + 1] = { to = name, line = line_of(block, at), file = file }
  end
  for at, _, name in text:gmatch "()return%s+(['\"])([%w_][%w_.-]*)%2" do
    if not name:find "^action%-" then
      out.routes[#out.routes + 1] = { to = name, line = line_of(block, at), file = file, weak = true }
    end
  end
  for name, value in text:gmatch "(MAX_[%u]+)%s*=%s*(%d+)" do
    local limit = LIMITS[name]
    if limit then
      out.limits[limit] = out.limits[limit] or math.tointeger(tonumber(value))
    end
  end
  for at, name in text:gmatch "()function%s+([%a_][%w_]*)%s*%(" do
    if name:find "[Ss]elect" or name:find "^route" or name:find "[Nn]extAction" then
      out.code[#out.code + 1] = { line = line_of(block, at), file = file, name = name }
    end
  end
end

-- What a test of the runtime's own fields means in its words (R73).
local function builtin_of(text)
  local plain = text:gsub("^state%??%.", ""):gsub("%s+", " ")
  local status = plain:match "^status ===? ['\"](.-)['\"]$"
  local count = plain:match "^error_count >= (%d+)$"
  if ends.is_builtin[plain] then
    return plain
  elseif status == "completed" then
    return "task_completed"
  elseif status == "user_exit" then
    return "user_exit"
  elseif count then
    return "error_limit", "max_errors", math.tointeger(tonumber(count))
  end
  local limit = plain:match "^iteration >= (.+)$" or plain:match "^iteration_count >= (.+)$"
  if limit then
    return "max_iterations", "max_iterations", math.tointeger(tonumber(limit))
  end
  return nil
end

local function add_termination(out, text, line, file, is_field)
  local code = markdown.code_span(text) or text:match "`([^`]+)`"
  local builtin, limit, value = builtin_of(code or text)
  if limit and value then
    out.limits[limit] = value
  end
  local told = builtin and { text = text, condition = builtin }
    or code and condition.item("`" .. code .. "`", is_field)
    or condition.item(text, is_field)
  if told then
    told.line, told.file = line, file
    out.terminate[#out.terminate + 1] = told
  end
end

local function read_termination(out, blocks, file, is_field)
  for _, block in ipairs(markdown.section(blocks, words.TERMINATION) or {}) do
    if block.kind == "item" then
      add_termination(out, block.text, block.line, file, is_field)
    end
  end
end

---@param blocks skillrt.load.Markdown
---@param file string
---@param is_field (fun(name: string): boolean)?
---@return skillrt.load.Orchestrator
function M.read(blocks, file, is_field)
  local out = { definitions = {}, graphs = {}, terminate = {}, limits = {}, routes = {}, code = {}, unread = {} }
  for _, block in ipairs(blocks) do
    if block.kind == "code" and block.lang == "mermaid" then
      local graph = mermaid.parse(block.text, block.line + 1)
      if graph then
        graph.file = file
        out.graphs[#out.graphs + 1] = graph
      end
    elseif block.kind == "code" then
      read_definitions(out, block, file)
      read_code(out, block, file)
    end
  end
  read_termination(out, blocks, file, is_field)
  return out
end

return M
