-- skill/contexts.lua: the contexts that a skill names: which files, of which kind, and in which order they are loaded
-- (docs/protocol.md, "Contexts").
--
-- Checks words and their order; reads nothing. Who loads them is run/contexts.lua. Called by skill/init.lua.

local names = require("skillrt.base.names")
local schema = require("skillrt.skill.schema")

local M = {}

---@class skillrt.Context
---@field kind "global"|"project"|"session"
---@field name string
---@field file string?        below the skill (global) or the folder a run is begun in (project); a session's has none
---@field version string?     the least that it must be, of the same first number
---@field requires string[]   those that are loaded before it
---@field optional boolean
---@field alternative string? the file that is taken where an optional one is not there

---The kinds of contexts that files are named for; that of one run, the execution context, is its state's `context`.
M.KINDS = { "global", "project", "session" }

local ENTRY <const> = {
  name = { type = "id" },
  file = { type = "path" },
  version = { type = "text" },
  requires = { type = "id", list = true, default = {} },
  optional = { type = "boolean", default = false },
  alternative = { type = "path" },
}

local STRATEGIES <const> = { context = { enum = { "file", "memory" }, default = "file" } }

-- One entry: a path, the name of a session's, or a table.
local function entry_of(given, kind, where)
  if type(given) == "string" then
    given = kind == "session" and { name = given } or { file = given }
  end
  local one, message = schema.record(given, ENTRY, where)
  if not one then
    return nil, message
  elseif kind ~= "session" and not one.file then
    return nil, where .. ": names no file"
  elseif kind == "session" and (one.file or one.alternative) then
    return nil, where .. ": a session's context has a name and no file; --session says whose it is"
  end
  one.name = one.name or one.file and one.file:match("([^/]+)$"):gsub("%.[^.]*$", "")
  local _, problem = names.id(one.name)
  if problem or not one.name then
    return nil, ("%s: its name %s"):format(where, problem or "is missing")
  end
  one.kind, one.optional = kind, one.optional or kind == "session"
  return one
end

-- Puts one and those it needs into the order; the message where they need each other.
local function add(one, by_name, order, state, where)
  if state[one.name] == "done" then
    return nil
  elseif state[one.name] then
    return ("%s: context %s needs itself, by way of those it requires"):format(where, one.name)
  end
  state[one.name] = "begun"
  for _, name in ipairs(one.requires) do
    local other = by_name[name]
    if not other then
      return ("%s: context %s requires %s, which is not declared%s"):format(where, one.name, names.show(name),
        names.suggest(name, by_name))
    end
    if not one.optional then
      other.optional = other.kind == "session" -- what something needs is needed
    end
    local message = add(other, by_name, order, state, where)
    if message then
      return message
    end
  end
  state[one.name] = "done"
  order[#order + 1] = one
end

-- Required ones in the order of their dependencies, then the optional ones (R163, R164).
local function ordered(list, by_name, where)
  local order, state = {}, {}
  for _, optional in ipairs({ false, true }) do
    for _, one in ipairs(list) do
      local message = one.optional == optional and add(one, by_name, order, state, where)
      if message then
        return nil, message
      end
    end
  end
  return order
end

---Checks `context` of a skill: a word for where state is kept, or a table of contexts; `contexts` are these.
---@param skill skillrt.Skill
---@return string? problem
function M.check(skill)
  local given = skill.context
  local is_table = type(given) == "table"
  local checked, message = schema.record({ context = is_table and given.strategy or not is_table and given or nil },
    STRATEGIES, "skill")
  if not checked then
    return (message:gsub("^skill: ", ""))
  end
  skill.context = checked.context
  if not is_table then
    return nil
  end
  local list, by_name = {}, {}
  for key in pairs(given) do
    if key ~= "global" and key ~= "project" and key ~= "session" and key ~= "strategy" then
      return ('field "context": there is no kind %s%s'):format(names.show(key),
        names.suggest(tostring(key), { global = true, project = true, session = true, strategy = true }))
    end
  end
  for _, kind in ipairs(M.KINDS) do
    local entries = given[kind]
    for i, entry in ipairs(type(entries) == "table" and entries[1] ~= nil and entries or { entries }) do
      local one, why = entry_of(entry, kind, ('field "context": %s %d'):format(kind, i))
      if not one then
        return why
      elseif by_name[one.name] then
        return ('field "context": two contexts are called %s'):format(one.name)
      end
      list[#list + 1], by_name[one.name] = one, one
    end
  end
  skill.contexts, message = ordered(list, by_name, 'field "context"')
  return message
end

return M
