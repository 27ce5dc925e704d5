-- document/load/prose.lua: all that a folder's documents say about actions, gathered: each action with what
-- every document says of it, the links between them, graphs, registries, the first state.
--
-- Judges nothing; merge.lua does. Called by folder.lua.
local action_md = require "skillrt.document.load.action_md"
local condition = require "skillrt.document.load.condition"
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

---@class skillrt.load.Source  what one document says of one action
---@field file string
---@field line integer?
---@field from "data"|"file"|"table"
---@field name string?
---@field description string?
---@field purpose string?
---@field priority number?
---@field preconditions skillrt.load.Told[]?
---@field effects { text: string, effect: string?, line: integer }[]?
---@field next { text: string, line: integer }[]?
---@field rest fun()?  reads what it says of conditions and effects; see M.whole

---@class skillrt.load.ProseAction
---@field id string
---@field path string?        its document
---@field sources skillrt.load.Source[]  the weightiest first
---@field sets table<string, integer>

---@class skillrt.load.Prose
---@field actions table<string, skillrt.load.ProseAction>
---@field order string[]
---@field links { from: string?, to: string, file: string, line: integer, how: "next"|"route"|"code" }[]
---@field own table<string, table>  by action: the link from it to itself
---@field graphs skillrt.load.Graph[]
---@field transitions table[]
---@field states table[]
---@field terminate table[]
---@field limits table<string, integer>
---@field state skillrt.load.StateMd?
---@field state_file string?
---@field code table[]
---@field odd table[]
---@field unread table[]
---@field documents string[]  the files all this comes from

local function new()
  return {
    actions = {},
    order = {},
    links = {},
    own = {},
    graphs = {},
    transitions = {},
    states = {},
    terminate = {},
    limits = {},
    code = {},
    odd = {},
    unread = {},
    documents = {},
  }
end

local function action_of(prose, id)
  local action = prose.actions[id]
  if not action then
    action = { id = id, sources = {}, sets = {} }
    prose.actions[id] = action
    prose.order[#prose.order + 1] = id
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
  local value = definition.value
  local id, problem = names.id(value.id)
  if not id then
    local what = ("an action's id %s"):format(problem)
    found:error("action-id", definition, what, "it becomes a file's name", "rename it")
    return
  end
  local source = { file = definition.file, line = definition.line, from = "data" }
  for _, key in ipairs { "name", "description", "purpose" } do
    source[key] = type(value[key]) == "string" and value[key] or nil
  end
  source.priority = type(value.priority) == "number" and value.priority or nil
  function source.rest()
    source.preconditions = told_of(value.preconditions, definition.line, function(text)
      return condition.item(("``` %s ```"):format(text), is_field)
    end)
    source.effects = told_of(value.effects, definition.line, function(text)
      return { effect = text }
    end)
  end
  table.insert(action_of(prose, id).sources, source)
end

local function gather_documents(prose, tree, is_field, found)
  local read = {}
  local function add(list)
    for _, path in ipairs(list) do
      local blocks = tree:has(path) and tree:document(path)
      if blocks then
        read[#read + 1] = { path = path, blocks = blocks, said = orchestrator.read(blocks, path, is_field) }
        prose.documents[#prose.documents + 1] = path
      end
    end
  end
  add(CATALOGS)
  add(ORCHESTRATORS)
  add { "SKILL.md" }
  for _, one in ipairs(read) do
    for _, definition in ipairs(one.said.definitions) do
      add_definition(prose, definition, is_field, found)
    end
    for _, key in ipairs { "graphs", "terminate", "code", "unread" } do
      table.move(one.said[key], 1, #one.said[key], #prose[key] + 1, prose[key])
    end
    for limit, value in pairs(one.said.limits) do
      prose.limits[limit] = prose.limits[limit] or value
    end
  end
  return read
end

local function gather_files(prose, tree, is_field, found)
  for _, folder in ipairs(ACTIONS) do
    for _, path in ipairs(tree:within(folder, "%.md$")) do
      local base = path:match "([^/]+)%.md$"
      local id, problem = names.id(base)
      local blocks = tree:document(path)
      if not id then
        local what = ("its name %s"):format(problem)
        found:error("action-id", { file = path }, what, "the file's name is the action's id", "rename the file")
      elseif blocks then
        local action = action_of(prose, id)
        local source = { file = path, from = "file", next = action_md.next(blocks) }
        function source.rest()
          for key, value in pairs(action_md.read(blocks, path, is_field)) do
            source[key] = value
          end
          action.sets = source.sets
        end
        action.path = path
        -- data says it more exactly than a list, a list more exactly than a table
        table.insert(action.sources, source)
        prose.documents[#prose.documents + 1] = path
      end
    end
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

local function gather_tables(prose, read, is_field)
  local function is_action(id)
    return prose.actions[id] ~= nil
  end
  local first = {}
  for _, one in ipairs(read) do
    local said = tables.read(one.blocks, one.path, is_field, is_action)
    for _, row in ipairs(said.actions) do
      table.insert(action_of(prose, row.id).sources, row)
      first[#first + 1] = row.id
    end
    for _, key in ipairs(is_ours(said, one.path) and { "transitions", "states", "odd" } or { "odd" }) do
      table.move(said[key], 1, #said[key], #prose[key] + 1, prose[key])
    end
  end
  return first
end

-- Catalogs say the order people mean; files only have that of their names.
local function order_by(prose, ids)
  local order, seen = {}, {}
  local function add(list)
    for _, id in ipairs(list) do
      if not seen[id] then
        seen[id] = true
        order[#order + 1] = id
      end
    end
  end
  local data = {}
  for _, id in ipairs(prose.order) do
    for _, source in ipairs(prose.actions[id].sources) do
      data[#data + 1] = source.from == "data" and id or nil
    end
  end
  add(data)
  add(ids)
  add(prose.order)
  prose.order = order
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

local function gather_links(prose, read)
  local named = {} -- many documents give the same hints
  for _, id in ipairs(prose.order) do
    for _, source in ipairs(prose.actions[id].sources) do
      for _, hint in ipairs(source.next or {}) do
        named[hint.text] = named[hint.text] or named_in(hint.text, prose)
        for _, to in ipairs(named[hint.text]) do
          local link = { from = id, to = to, file = source.file, line = hint.line, how = "next" }
          prose.links[#prose.links + 1] = link
          prose.own[id] = prose.own[id] or to == id and link or nil
        end
      end
    end
  end
  for _, one in ipairs(read) do
    for _, route in ipairs(one.said.routes) do
      if not route.weak or prose.actions[route.to] then
        prose.links[#prose.links + 1] = { to = route.to, file = route.file, line = route.line, how = "code" }
      end
    end
  end
end

---An action with all that its documents say. Where a config speaks for it nobody asks, so its
---conditions are not read before.
---@param action skillrt.load.ProseAction
---@return skillrt.load.ProseAction
function M.whole(action)
  for _, source in ipairs(action.sources) do
    local rest = source.rest
    source.rest = nil
    if rest then
      rest()
    end
  end
  return action
end

---Reads what the documents of a folder say.
---@param tree skillrt.load.Tree
---@param found skillrt.Findings
---@return skillrt.load.Prose
function M.read(tree, found)
  local prose = new()
  local schema = tree:first(table.unpack(SCHEMAS))
  local blocks = schema and tree:document(schema)
  if blocks then
    prose.state, prose.state_file = state_md.read(blocks), schema
    prose.documents[1] = schema
  end
  local fields = {}
  for _, field in ipairs(prose.state and prose.state.fields or {}) do
    fields[field.name] = true
  end
  for key in pairs(prose.state and prose.state.initial or {}) do
    fields[key] = true
  end
  local function is_field(name)
    return fields[name] == true
  end
  local read = gather_documents(prose, tree, is_field, found)
  gather_files(prose, tree, is_field, found)
  order_by(prose, gather_tables(prose, read, is_field))
  gather_links(prose, read)
  return prose
end

return M
