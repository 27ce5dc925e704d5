-- document/load/prose.lua: all that a folder's documents say about actions: facts about each action, the links between
-- them, graphs, registries, the first state; each with its place.
--
-- Judges nothing; sources.lua does. Called by folder.lua.
local action_md = require "skillrt.document.load.action_md"
local condition = require "skillrt.document.load.condition"
local facts_of = require "skillrt.document.load.facts"
local names = require "skillrt.base.names"
local orchestrator = require "skillrt.document.load.orchestrator"
local state_md = require "skillrt.document.load.state_md"
local tables = require "skillrt.document.load.tables"
local texts = require "skillrt.base.text"

local M = {}

local ACTIONS = { "phases/actions", "actions" }
local ORCHESTRATORS = { "phases/orchestrator.md", "phases/_orchestrator.md", "orchestrator.md" }
local CATALOGS = { "specs/action-catalog.md", "phases/action-catalog.md", "action-catalog.md" }
local SCHEMAS = { "phases/state-schema.md", "specs/state-schema.md", "state-schema.md" }

-- Data says it more exactly than a list, a list more exactly than a table.
local DATA <const>, LIST <const> = 3, 2
M.TABLE = 1

---@class skillrt.load.ProseAction
---@field id string
---@field path string?        its document
---@field at { file: string, line: integer? }  of the weightiest document that names it
---@field weight integer
---@field next { text: string, line: integer }[]?  what its document says may come next
---@field sets table<string, integer>  keys of the state that its updates name, each with a line

---@class skillrt.load.Prose
---@field facts skillrt.load.Facts  about actions: name, description, purpose, priority, preconditions, effects, nearly
---@field actions table<string, skillrt.load.ProseAction>
---@field order string[]
---@field links { from: string?, to: string, file: string, line: integer, how: "next"|"route"|"code" }[]
---@field own table<string, table>  by action: the link from it to itself
---@field graphs skillrt.load.Graph[]
---@field transitions table[]
---@field states table[]
---@field names table[]       of a registry that says no states
---@field conditions table[]  of a machine, by their names
---@field metrics table[]
---@field recoveries table[]
---@field route skillrt.load.Route?
---@field route_file string?
---@field data table?         the state file's structure
---@field terminate table[]
---@field limits table<string, integer>
---@field state skillrt.load.StateMd?
---@field state_file string?
---@field code table[]
---@field odd table[]
---@field unread table[]
---@field documents string[]  the files all this comes from

local SAYS <const> = { "name", "description", "purpose", "priority", "preconditions", "effects", "nearly" }

-- What one document says of one action.
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

local function told_of(list, line, read)
  local out = type(list) == "table" and {} or nil
  for _, text in ipairs(out and list or {}) do
    local told = type(text) == "string" and read(text)
    if told then
      told.text, told.line = text, line
      out[#out + 1] = told
    end
  end
  return out
end

-- The entries of an ACTION_CATALOG; their conditions are code, as data says them.
local function add_definition(prose, definition, is_field, found)
  local value, said = definition.value, {}
  local id, problem = names.id(value.id)
  if not id then
    local what = ("an action's id %s"):format(problem)
    found:error("action-id", definition, what, "it becomes a file's name", "rename it")
    return
  end
  for _, key in ipairs { "name", "description", "purpose" } do
    said[key] = type(value[key]) == "string" and value[key] or nil
  end
  said.priority = type(value.priority) == "number" and value.priority or nil
  said.preconditions = told_of(value.preconditions, definition.line, function(text)
    return condition.item(("``` %s ```"):format(text), is_field)
  end)
  said.effects = told_of(value.effects, definition.line, function(text)
    return { effect = text }
  end)
  add(prose, id, said, DATA, { file = definition.file, line = definition.line })
end

local function append(prose, said, ...)
  for _, key in ipairs { ... } do
    table.move(said[key], 1, #said[key], #prose[key] + 1, prose[key])
  end
end

-- In SKILL.md a table about states may be one that the skill writes: ours has rows whose actions are all ids.
local function is_ours(said, path)
  local ids = path == "SKILL.md" and #said.transitions or 2
  for _, row in ipairs(path == "SKILL.md" and said.transitions or {}) do
    ids = names.id(row.action) and ids or 0
  end
  return ids > 1
end

local function gather_document(prose, path, blocks, is_field, found)
  local said = orchestrator.read(blocks, path, is_field)
  for _, definition in ipairs(said.definitions) do
    add_definition(prose, definition, is_field, found)
  end
  append(prose, said, "graphs", "terminate", "code", "unread", "routes")
  for limit, value in pairs(said.limits) do
    prose.limits[limit] = prose.limits[limit] or value
  end
  if path:find "orchestrator[^/]*%.md$" then
    append(prose, said, "recoveries")
    prose.data = prose.data or said.data
    prose.route, prose.route_file = prose.route or said.route, prose.route_file or said.route and path
  end
end

local function gather_tables(prose, tree, path, blocks, is_field)
  local said = tables.read(blocks, path, is_field, function(id)
    return prose.actions[id] ~= nil or tree:has(("%s/%s.md"):format(ACTIONS[1], id))
      or tree:has(("%s/%s.md"):format(ACTIONS[2], id))
  end)
  for _, row in ipairs(said.actions) do
    add(prose, row.id, row, M.TABLE, { file = row.file, line = row.line })
  end
  append(prose, said, "odd")
  if is_ours(said, path) then
    append(prose, said, "transitions", "states")
  end
  if path:find "orchestrator[^/]*%.md$" then
    append(prose, said, "names", "conditions", "metrics")
  end
end

local function gather_file(prose, path, blocks, is_field, found)
  local id, problem = names.id(path:match "([^/]+)%.md$")
  if not id then
    local what = ("its name %s"):format(problem)
    found:error("action-id", { file = path }, what, "the file's name is the action's id", "rename the file")
    return
  end
  local said = action_md.read(blocks, path, is_field)
  local action = add(prose, id, said, LIST, { file = path, line = said.line })
  action.path, action.sets, action.next = path, said.sets, action_md.next(blocks)
  prose.documents[#prose.documents + 1] = path
end

-- The actions a text names: known ids, and what is written as one.
local function named_in(text, prose)
  local out, seen, marked = {}, {}, {}
  for word in text:gmatch "`([^`]*)%f[`]" do
    marked[word] = true
  end
  for word in text:gmatch "[%w_][%w_.-]*" do
    word = texts.without_end(word, ".-")
    local known = prose.actions[word] ~= nil and (marked[word] or word:find "[-_]" ~= nil)
    if (known or word:find "^action%-%w") and not seen[word] then
      seen[word] = true
      out[#out + 1] = word
    end
  end
  return out
end

local function gather_links(prose)
  local named = {} -- many documents give the same hints
  for _, id in ipairs(prose.order) do
    for _, hint in ipairs(prose.actions[id].next or {}) do
      named[hint.text] = named[hint.text] or named_in(hint.text, prose)
      for _, to in ipairs(named[hint.text]) do
        local link = { from = id, to = to, file = prose.actions[id].path, line = hint.line, how = "next" }
        prose.links[#prose.links + 1] = link
        prose.own[id] = prose.own[id] or to == id and link or nil
      end
    end
  end
  for _, route in ipairs(prose.routes) do
    if not route.weak or prose.actions[route.to] then
      prose.links[#prose.links + 1] = { to = route.to, file = route.file, line = route.line, how = "code" }
    end
  end
end

---Reads what the documents of a folder say.
---@param tree skillrt.load.Tree
---@param found skillrt.Findings
---@return skillrt.load.Prose
function M.read(tree, found)
  local prose = { facts = facts_of.new(), actions = {}, order = {}, links = {}, own = {}, limits = {}, documents = {} }
  for _, key in ipairs { "graphs", "transitions", "states", "names", "conditions", "metrics", "recoveries", "terminate",
    "code", "odd", "unread", "routes" } do
    prose[key] = {}
  end
  local fields, read = {}, {}
  local function is_field(name)
    return fields[name] == true
  end
  local schema = tree:first(table.unpack(SCHEMAS))
  local blocks = schema and tree:document(schema)
  if blocks then
    prose.state, prose.state_file = state_md.read(blocks), schema
    prose.documents[1] = schema
    for _, field in ipairs(prose.state.fields) do
      fields[field.name] = true
    end
    for key in pairs(prose.state.initial or {}) do
      fields[key] = true
    end
  end
  for _, list in ipairs { CATALOGS, ORCHESTRATORS, { "SKILL.md" } } do
    for _, path in ipairs(list) do
      local document = tree:has(path) and tree:document(path)
      if document then
        read[#read + 1] = { path, document }
        prose.documents[#prose.documents + 1] = path
        gather_document(prose, path, document, is_field, found)
      end
    end
  end
  for _, one in ipairs(read) do -- catalogs say the order people mean; files only have that of their names
    gather_tables(prose, tree, one[1], one[2], is_field)
  end
  for _, folder in ipairs(ACTIONS) do
    for _, path in ipairs(tree:within(folder, "%.md$")) do
      local document = tree:document(path)
      if document then
        gather_file(prose, path, document, is_field, found)
      end
    end
  end
  gather_links(prose)
  return prose
end

return M
