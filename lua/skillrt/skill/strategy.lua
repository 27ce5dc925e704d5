-- skill/strategy.lua: the contract of a strategy, and how one is found (F45).
--
--   select(state, available, ctx) -> id | { id, ... } | nil, reason
--
-- `available` holds the runnable actions, `#available`, `available[i]`, `available:has(id)`,
-- ordered by priority and then declaration, or by declaration where the strategy has
-- order = "declaration". Knows nothing of files or runs: the caller gives a loader of texts.
-- Called by the loader of skills and by the modes.

local names = require("skillrt.base.names")
local tables = require("skillrt.base.tables")

local M = {}

---Strategies that come with skillrt.
M.BUILTIN = { "priority", "sequential", "state_driven", "user_driven", "plan" }

local ORDERS = { priority = true, declaration = true }

---@class skillrt.Strategy
---@field name string
---@field select fun(state: table, available: skillrt.Available, ctx: table): any, any
---@field order "priority"|"declaration"
---@field description string?
---@field decides_end boolean?  also called when nothing is runnable
---@field concurrent boolean?   called again while steps run and there is room for more
---@field options table?  given to select as ctx.options
---@field path string?    the file it came from
---@field text string?    what was read there; its digest is pinned by the journal

---@class skillrt.Available
---@field has fun(self: skillrt.Available, id: string): boolean

local function named(available)
  local ids = tables.column(available, "id")
  return ids[1] and "available: " .. names.listed(ids, 20) or "nothing is available"
end

-- Why an id cannot be chosen; nil: it can.
local function problem_of(id, available, seen)
  if type(id) ~= "string" then
    return ("returned %s instead of an action's id"):format(names.show(id))
  elseif seen[id] then
    return ('chose "%s" twice'):format(id)
  elseif not available:has(id) then
    return ("chose %s, which cannot run now (%s)"):format(names.show(id), named(available))
  end
  seen[id] = true
  return nil
end

---Checks what a strategy chose against what is available.
---@param result any  an id or a list of ids
---@param available skillrt.Available
---@return string[]? ids
---@return string? reason
function M.check(result, available)
  if result == nil then
    return nil, "the strategy chose nothing"
  end
  local list = type(result) == "table" and result or { result }
  if #list == 0 then
    return nil, "the strategy returned an empty list; return ids, or nil and a reason"
  end
  local ids, seen = {}, {}
  for i = 1, #list do
    local problem = problem_of(list[i], available, seen)
    if problem then
      return nil, "the strategy " .. problem
    end
    ids[i] = list[i]
  end
  for key in pairs(list) do
    if math.type(key) ~= "integer" then
      return nil, ("the strategy returned a table with the field %s; return a list of ids"):format(names.show(key))
    end
  end
  return ids
end

-- What a strategy file returned, or a script gave, in its normal form.
local function normal(value, name, where)
  if type(value) == "function" then
    value = { select = value }
  elseif type(value) ~= "table" then
    return nil, where .. ": must return a table with a function `select`, not " .. names.show(value), "invalid"
  end
  if type(value.select) ~= "function" then
    local near = names.nearest("select", value)
    local hint = near and (' (did you mean "select" by "%s"?)'):format(near) or ""
    return nil, where .. ": has no function `select`" .. hint, "invalid"
  elseif value.order ~= nil and not ORDERS[value.order] then
    local problem = '%s: order must be "priority" or "declaration", not %s'
    return nil, problem:format(where, names.show(value.order)), "invalid"
  elseif value.concurrent ~= nil and type(value.concurrent) ~= "boolean" then
    return nil, ("%s: concurrent must be true or false, not %s"):format(where, names.show(value.concurrent)), "invalid"
  end
  return {
    name = type(value.name) == "string" and value.name or name,
    description = type(value.description) == "string" and value.description or nil,
    order = value.order or "priority",
    select = value.select,
    options = value.options,
    decides_end = value.decides_end == true or nil,
    concurrent = value.concurrent or nil,
  }
end

local function unknown(name, message, code)
  return nil, ('strategy "%s": %s%s; built in are %s, anything else is a Lua file'):format(name,
    message or "not found", names.meant(not name:find("[/.]") and name, M.BUILTIN), table.concat(M.BUILTIN, ", ")),
    code or "not_found"
end

local function from_file(spec, loader, perform)
  local name = spec.path or spec.name
  local text, path, code = loader(name)
  if not text then
    return unknown(name, path, code)
  end
  path = path or name
  local is_own = name:find("[/.]") or path ~= name
  local env = is_own and require("skillrt.base.environment").new(path).env or _G
  local chunk, message = load(text, "@" .. path, "t", env)
  if not chunk then
    return nil, ("strategy %s"):format(message), "invalid"
  elseif perform and is_own then
    function chunk()
      return perform(text, "@" .. path, name)
    end
  end
  local ok, value = xpcall(chunk, debug.traceback, name)
  if not ok then
    return nil, ("strategy %s"):format(tostring(type(value) == "table" and value.message or value)), "invalid"
  end
  local short = path:match("([^/]+)%.lua$") or name
  local strategy, problem, cause = normal(value, short, "strategy " .. path)
  if not strategy then
    return nil, problem, cause
  end
  strategy.options = spec.options or strategy.options
  strategy.path, strategy.text = path, text
  return strategy
end

---Finds a strategy: a function, a table with `select`, the name of a built-in one, or a file.
---@param spec function|string|table
---@param loader fun(name: string): string?, string?, string?  text and path; or nil, message, code
---@param perform (fun(text: string, name: string, argument: any): any)?  runs an untrusted file elsewhere
---@return skillrt.Strategy?
---@return string? message
---@return string? code
function M.resolve(spec, loader, perform)
  if type(spec) == "string" then
    spec = { name = spec }
  end
  if type(spec) == "function" then
    return normal(spec, "function", "strategy")
  elseif type(spec) ~= "table" then
    return nil, "strategy: must be a function, a name or a table with `select`, not " .. names.show(spec), "invalid"
  elseif spec.select ~= nil or (spec.name == nil and spec.path == nil) then
    return normal(spec, "table", "strategy")
  end
  local name = spec.path or spec.name
  if type(name) ~= "string" or name == "" or name:find("%c") then
    return nil, "strategy: must be a name or a path, not " .. names.show(name), "invalid"
  end
  return from_file(spec, loader, perform)
end

return M
