-- run/outcome.lua: what of a step's result may enter the books.
--
-- Refuses reserved fields and dotted keys, checks declared types and declared effects. Knows the
-- skill and the books, no agents, no journal.
-- Called by steps.lua.

local json = require("skillrt.base.json")
local meeting = require("skillrt.run.meeting")
local names = require("skillrt.base.names")
local output_files = require("skillrt.run.output_files")
local record = require("skillrt.base.record")
local state = require("skillrt.skill.state")
local types = require("skillrt.skill.types")

local M = {}

---The class of a result that cannot be used. What an agent gave may be better another time; a function
---that awaited nothing gives the same again.
---@param step skillrt.Step
---@return "invalid_output"|"permanent"
function M.unusable(step)
  return step.execution and "invalid_output" or "permanent"
end

-- Names of fields that were found good before: scripts update the same few again and again.
local PLAIN_MOST = 4096
local plain, plain_count = {}, 0

local function remember_plain(key)
  if plain[key] or not utf8.len(key) then
    return
  elseif plain_count >= PLAIN_MOST then
    plain, plain_count = {}, 0
  end
  plain[key], plain_count = true, plain_count + 1
end

local math_type = math.type

local function is_plain_text_or_flag(value)
  if type(value) == "string" then
    return #value <= record.BLOB_BYTES and utf8.len(value) ~= nil
  end
  return type(value) == "boolean"
end

-- Only known names and values that nothing has to be done to: they are taken as they are.
local function are_simple(updates)
  if getmetatable(updates) then
    return false
  end
  for key, value in next, updates do
    local kind = plain[key] and math_type(value) or nil
    if kind == "float" then
      if value - value ~= 0 then -- NaN and the infinities less themselves are NaN
        return false
      end
    elseif kind ~= "integer" and not (plain[key] and is_plain_text_or_flag(value)) then
      return false
    end
  end
  return true
end

-- The updates that may be merged, the reserved names that were left out, or what is wrong.
---@return table|nil kept
---@return string|nil problem
---@return table|nil refused
---@return boolean|nil has_tables
local function judge_updates(skill, updates)
  local declared_types = skill.schema
  local kept, refused, has_tables = {}, nil, false
  for key, value in pairs(updates) do
    if type(key) ~= "string" then
      return nil, ("updates must be named fields, found the key %s"):format(tostring(key))
    elseif key:find(".", 1, true) then
      return nil,
        ("update %q: a dotted key is not a path; return nested tables instead"):format(key)
    elseif state.is_reserved(key) then
      refused = refused or json.array({})
      refused[#refused + 1] = key
    else
      remember_plain(key)
      local declared = declared_types and declared_types[key]
      if declared and not types.fits(declared, value) then
        return nil, ("update %q: declared as %s, got %s"):format(key, declared, types.describe(value))
      end
      -- An empty Lua table for a list stays a list.
      if type(value) == "table" and next(value) == nil and declared and declared:sub(-2) == "[]" then
        value = json.array(value)
      end
      kept[key] = value
      has_tables = has_tables or type(value) == "table"
    end
  end
  if refused then
    table.sort(refused)
  end
  return kept, nil, refused, has_tables
end

-- An empty table replaces a list by a list, not by an object, also deep inside.
local function keep_lists(old, updates)
  local out
  for key, value in pairs(updates) do
    local new = value
    if type(value) == "table" and not getmetatable(value) and type(old[key]) == "table" then
      if next(value) == nil and json.is_array(old[key]) then
        new = json.array({})
      elseif not json.is_array(value) then
        new = keep_lists(old[key], value)
      end
    end
    if new ~= value then -- the author's own table stays as it is
      out = out or {}
      out[key] = new
    end
  end
  if not out then
    return updates
  end
  for key, value in pairs(updates) do
    if out[key] == nil then
      out[key] = value
    end
  end
  return out
end

local function broken_effects(definition, before, after)
  local broken
  for _, effect in ipairs(definition.effects) do
    local ok, why = effect.check(before, after)
    if not ok then
      broken = broken or json.array({})
      broken[#broken + 1] = why and ("%s: %s"):format(effect.text, why) or effect.text
    end
  end
  return broken
end

-- The updates and the context apart: an agent may set keys of the context among its updates, as
-- `context = { key = value }` (R6, R49); they are merged, never taken for the whole of it.
local function split_context(outcome)
  local updates, context = outcome.updates or {}, outcome.context
  local among = updates.context
  if among == nil or type(among) ~= "table" or json.is_array(among) then
    return updates, context
  end
  local rest, merged = {}, {}
  for key, value in pairs(updates) do
    rest[key] = key ~= "context" and value or nil
  end
  for _, part in ipairs({ among, context }) do
    for key, value in pairs(part) do
      merged[key] = value
    end
  end
  return rest, merged
end

-- The context an agent or function set, or what is wrong with a name in it (F13).
local function judge_context(step, given)
  local context = step.context and next(step.context) ~= nil and step.context or given
  if not context or next(context) == nil then
    return nil
  end
  for key in pairs(context) do
    local id, problem = names.id(key)
    if not id then
      return nil, "context: a key " .. problem
    end
  end
  local copy = {}
  for key, value in pairs(context) do
    copy[key] = value
  end
  return copy
end

-- The state as the effects will find it: the top-level fields after the update.
local function preview(root, updates)
  return setmetatable({}, {
    __index = function(_, key)
      local value = updates[key]
      if value == json.null then
        return nil
      elseif value ~= nil then
        return state.merge(root[key], value)
      end
      return root[key]
    end,
  })
end

local function add_output(run, step, definition, outcome, entry)
  local output, file, message, code = output_files.settle(run, step, definition, outcome)
  if message then
    return message, code
  end
  entry.file = file
  if step.kind == "phase" then
    entry.out = output == nil and json.null or output
    if run.books.context_strategy == "memory" and output ~= nil then
      entry.context = entry.context or {}
      entry.context[step.id .. "_output"] = output
    end
  end
  return nil
end

-- The end of a step whose function gave a few plain values and nothing else, as most do.
local function settle_plain(run, step, definition, updates)
  if run.books.finished ~= step.after or step.kind ~= "action" or run.skill.schema
    or step.context or definition.output or #definition.effects > 0
    or not are_simple(updates) then
    return nil
  end
  return { t = "done", step = step.number, set = next(updates) ~= nil and updates or nil, at = 0, ms = 0 }
end

---Turns an outcome into the `done` record of its step.
---@param run table  { skill, books, work_dir }
---@param step skillrt.Step
---@param definition table
---@param outcome table  { status, updates, summary, output, output_file, context, concerns }
---@param own boolean?  what a function of the script returned: nothing but updates, if it is an action's
---@return table|nil record
---@return table|nil failure  { class, message }
---@return boolean? simple  the record holds nothing but simple updates
function M.settle(run, step, definition, outcome, own)
  local plain_end = own and settle_plain(run, step, definition, outcome.updates or {})
  if plain_end then
    return plain_end, nil, true
  end
  local given, context = split_context(outcome)
  local updates, problem, refused, has_tables = judge_updates(run.skill, given)
  if updates and (step.context or context) then
    context, problem = judge_context(step, context)
  end
  local replaced
  if updates and not problem then
    updates, problem, replaced = meeting.updates(run, step, updates)
  end
  if problem then
    return nil, { class = M.unusable(step), message = ("%s: %s"):format(step.id, problem) }
  end
  local root = run.books.state.root
  updates = has_tables and keep_lists(root, updates) or updates
  local entry = {
    t = "done",
    step = step.number,
    set = next(updates) ~= nil and updates or nil,
    refused = refused,
    replaced = replaced,
    summary = outcome.summary and record.printable(outcome.summary),
    why = outcome.concerns and record.printable(outcome.concerns),
    partial = outcome.status == "partial" or nil,
    context = context,
  }
  if not entry.partial then
    local message, code = add_output(run, step, definition, outcome, entry)
    if message then -- a disk that does not take it is no fault of the step: what it gave is kept
      return nil, { class = "invalid_output", message = ("%s: %s"):format(step.id, message), here = code ~= nil }
    end
  end
  if #definition.effects > 0 then
    entry.missed = broken_effects(definition, root, preview(root, updates))
  end
  return entry
end

return M
