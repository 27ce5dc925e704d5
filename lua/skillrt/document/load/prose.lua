-- document/load/prose.lua: everything that a folder's documents say about actions: facts about each action, the links
-- between them, the initial state, ends and limits of the loop; each with its place.
-- Decides nothing; sources.lua does. Decision code is not run: the names in it are collected, and a note reports that
-- it exists. Called by folder.lua.
local action_md = require "skillrt.document.load.action_md"
local condition = require "skillrt.document.load.condition"
local ends = require "skillrt.skill.ends"
local facts_of = require "skillrt.document.load.facts"
local markdown = require "skillrt.document.load.markdown"
local names = require "skillrt.base.names"
local state_md = require "skillrt.document.load.state_md"
local tables = require "skillrt.base.tables"
local tables_md = require "skillrt.document.load.tables"
local texts = require "skillrt.base.text"
local words = require "skillrt.document.load.words"

local M = {}

local ACTIONS = { "phases/actions", "actions" }
local READ = { -- catalogs, orchestrators, and what hosts read
  "specs/action-catalog.md", "phases/action-catalog.md", "action-catalog.md",
  "phases/orchestrator.md", "phases/_orchestrator.md", "orchestrator.md", "SKILL.md",
}

-- A list is more exact than a table.
local LIST <const> = 2
M.TABLE = 1

---@class skillrt.load.ProseAction
---@field id string
---@field path string?        its document
---@field at { file: string, line: integer? }  of the weightiest document that names it
---@field weight integer
---@field next { text: string, line: integer }[]?  what its document names as the next action
---@field sets table<string, integer>  keys of the state that its updates name, each with a line

---@class skillrt.load.Prose
---@field facts skillrt.load.Facts  about actions: name, description, purpose, priority, preconditions, effects, nearly
---@field actions table<string, skillrt.load.ProseAction>
---@field order string[]
---@field links { from: string, to: string, file: string, line: integer }[]  hints about the next action
---@field own table<string, table>  by action: its link to itself
---@field machine { line: integer, file: string }?  a table of states and the actions between them
---@field terminate { text: string, condition: string?, line: integer, file: string, problem: string?, hint: string? }[]
---@field limits table<string, integer>
---@field state skillrt.load.StateMd?
---@field state_file string?
---@field code { line: integer, file: string, name: string }[]  decision functions
---@field odd table[]
---@field documents string[]  the files that all of this comes from

local LISTS <const> = { "order", "links", "terminate", "code", "odd",
  "documents" }
local SAYS <const> = { "name", "description", "purpose", "priority", "preconditions", "effects", "nearly" }

-- What one document says about one action.
local function add(prose, id, said, weight, at)
  local action = prose.actions[id]
  if not action then
    action = { id = id, at = at, weight = weight, sets = {} }
    prose.actions[id] = action
    prose.order[#prose.order + 1] = id
  elseif weight > action.weight then
    action.at, action.weight = at, weight
  end
  for _, key in ipairs(SAYS) do
    prose.facts:add(id, key, said[key], weight, key == "preconditions" and said.preconditions_line
      and { file = at.file, line = said.preconditions_line } or at)
  end
  return action
end

local LIMITS = { MAX_ITERATIONS = "max_iterations", MAX_ERRORS = "max_errors", MAX_RETRIES = "max_retries" }

local function read_code(prose, block, file)
  local text = block.text
  for word, limit in text:gmatch "%f[%w_](MAX_%u+)%s*=%s*(%d+)" do
    local name = LIMITS[word]
    if name then
      prose.limits[name] = prose.limits[name] or math.tointeger(tonumber(limit))
    end
  end
  local line = block.line
  for one in texts.lines(text) do
    line = line + 1
    local name = one:match "function%s+([%a_][%w_]*)%s*%("
    if name and (name:find "[Ss]elect" or name:find "^route" or name:find "[Nn]extAction") then
      table.insert(prose.code, { line = line, file = file, name = name })
    end
  end
end

-- The runtime's word for a test of its own fields (R73).
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

local function read_termination(prose, block, file)
  local text = block.text
  local code = markdown.code_span(text) or text:match "`([^`]+)`"
  local builtin, limit, value = builtin_of(code or text)
  if limit then
    prose.limits[limit] = prose.limits[limit] or value
  end
  local told = builtin and { text = text, condition = builtin }
    or condition.item(code and "`" .. code .. "`" or text, prose.is_field)
  if told then
    told.line, told.file = block.line, file
    table.insert(prose.terminate, told)
  end
end

local function read_document(prose, file, blocks)
  for _, block in ipairs(blocks) do
    if block.kind == "code" and block.lang ~= "mermaid" then
      read_code(prose, block, file)
    end
  end
  for _, block in ipairs(markdown.section(blocks, words.TERMINATION) or {}) do
    if block.kind == "item" then
      read_termination(prose, block, file)
    end
  end
end

local function read_tables(prose, tree, file, blocks)
  local said = tables_md.read(blocks, file, prose.is_field, function(id)
    return prose.actions[id] ~= nil or tree:first(ACTIONS[1] .. "/" .. id .. ".md", ACTIONS[2] .. "/" .. id .. ".md")
      ~= nil
  end)
  for _, row in ipairs(said.actions) do
    add(prose, row.id, row, M.TABLE, { file = file, line = row.line })
  end
  tables.append(prose.odd, said.odd)
  prose.machine = prose.machine or said.machine
end

local function read_action(prose, file, blocks)
  local id, problem = names.id(file:match "([^/]+)%.md$")
  if not id then
    prose.found:error("action-id", { file = file }, ("its name %s"):format(problem),
      "the file's name is the action's id", "rename the file")
    return
  end
  local said = action_md.read(blocks, prose.is_field)
  local action = add(prose, id, said, LIST, { file = file, line = said.line })
  action.path, action.sets, action.next = file, said.sets, said.next
  table.insert(prose.documents, file)
end

-- The actions that a text names: known ids, and words that are written like one.
local function named_in(text, prose)
  local out, seen, marked = {}, {}, {}
  for word in text:gmatch "`([^`]*)%f[`]" do
    marked[word] = true
  end
  for dotted in text:gmatch "[%w_][%w_.-]*" do
    local word = texts.without_end(dotted, ".-")
    local known = prose.actions[word] ~= nil and (marked[word] or word:find "[-_]" ~= nil)
    if (known or word:find "^action%-%w") and not seen[word] then
      seen[word] = true
      out[#out + 1] = word
    end
  end
  return out
end

local function read_links(prose)
  local named = {} -- many documents give the same hints
  for _, id in ipairs(prose.order) do
    for _, hint in ipairs(prose.actions[id].next or {}) do
      named[hint.text] = named[hint.text] or named_in(hint.text, prose)
      for _, to in ipairs(named[hint.text]) do
        local link = { from = id, to = to, file = prose.actions[id].path, line = hint.line }
        table.insert(prose.links, link)
        prose.own[id] = prose.own[id] or to == id and link or nil
      end
    end
  end
end

---Reads what the documents of a folder say.
---@param tree skillrt.load.Tree
---@param found skillrt.Findings
---@return skillrt.load.Prose
function M.read(tree, found)
  local fields = {}
  local prose = { facts = facts_of.new(), actions = {}, own = {}, limits = {}, found = found, is_field = function(name)
    return fields[name] == true
  end }
  for _, key in ipairs(LISTS) do
    prose[key] = {}
  end
  local schema = tree:first("phases/state-schema.md", "specs/state-schema.md", "state-schema.md")
  local blocks = schema and tree:read(schema) and tree:document(schema)
  if blocks then
    prose.state, prose.state_file, prose.documents[1] = state_md.read(blocks), schema, schema
    for _, field in ipairs(prose.state.fields) do
      fields[field.name] = true
    end
    for key in pairs(prose.state.initial or {}) do
      fields[key] = true
    end
  end
  local read = {}
  for _, file in ipairs(READ) do
    local document = tree:has(file) and tree:read(file) and tree:document(file)
    if document then
      read[#read + 1] = { file, document }
      table.insert(prose.documents, file)
      read_document(prose, file, document)
    end
  end
  for _, one in ipairs(read) do -- catalogs have the order that people mean; files only that of their names
    read_tables(prose, tree, one[1], one[2])
  end
  for _, folder in ipairs(ACTIONS) do
    for _, file in ipairs(tree:within(folder, "%.md$")) do
      if tree:read(file) then -- else it is no action
        read_action(prose, file, tree:document(file))
      end
    end
  end
  read_links(prose)
  return prose
end

return M
