-- run/outcome.lua: decides what of a step's result enters the books.
--
-- Refuses reserved fields and dotted keys, checks declared types and declared effects; in machine mode it also moves
-- the machine. Knows the skill and the books, no agents, no journal. Called by steps.lua.

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local meeting = require("skillrt.run.outcome.meeting")
local names = require("skillrt.base.names")
local output_files = require("skillrt.run.output_files")
local record = require("skillrt.base.record")
local plain = require("skillrt.base.plain")
local state = require("skillrt.skill.state")
local tables = require("skillrt.base.tables")
local types = require("skillrt.skill.types")

local M = {}

local wall_ms = core.wall_ms

---The class of an unusable result. An agent's answer may be better next time; a function that awaited nothing would
---return the same again.
---@param step skillrt.Step
---@return "invalid_output"|"permanent"
function M.unusable(step)
  return step.live.execution and "invalid_output" or "permanent"
end

-- Cache of valid field names: scripts update the same few again and again.
local GOOD_MOST <const> = 4096
local good, good_count = {}, 0

-- Whether a field may have this name: true, false for one of the runtime's own, or nil and why not.
local function judge_name(key)
  if type(key) ~= "string" then
    return nil, ("updates must be named fields, found the key %s"):format(tostring(key))
  elseif key:find(".", 1, true) then
    return nil, ("update %q: a dotted key is not a path; return nested tables instead"):format(key)
  elseif state.is_reserved(key) then
    return false
  elseif utf8.len(key) then -- the encoder refuses what is no text
    if good_count >= GOOD_MOST then
      good, good_count = {}, 0
    end
    good[key], good_count = true, good_count + 1
  end
  return true
end

-- The updates without the reserved names; an empty Lua table for a declared list becomes a list. The author's own
-- table is unchanged.
local function taken(updates, declared, refused)
  local out = {}
  for key, value in pairs(updates) do
    out[key] = value
    if type(value) == "table" and next(value) == nil and declared and (declared[key] or ""):sub(-2) == "[]" then
      out[key] = json.array({})
    end
  end
  for i = 1, #refused do
    out[refused[i]] = nil
  end
  table.sort(refused)
  return out
end

local NONE <const> = {} -- no name is refused; never written to

-- Whether updates may be merged: the reserved names that are ignored, or what is wrong; and whether they contain
-- tables.
---@return string|nil problem
---@return table|nil refused
---@return boolean|nil has_tables
---@return string|nil some  the name of one of them, if there are any
local function judge_updates(declared, updates)
  local refused, has_tables, some = nil, false, nil
  for key, value in next, updates do
    some = key
    if not good[key] then
      local ok, problem = judge_name(key)
      if problem then
        return problem
      elseif not ok then
        refused = refused or json.array({})
        refused[#refused + 1] = key
      end
    end
    has_tables = has_tables or type(value) == "table"
    if declared and declared[key] and not types.fits(declared[key], value) and not state.is_reserved(key) then
      return ("update %q: declared as %s, got %s"):format(key, declared[key], types.describe(value))
    end
  end
  return nil, refused, has_tables, some
end

-- An empty table replaces a list by an empty list, not by an object, also inside other tables.
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
    if new ~= value then -- the author's own table is unchanged
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

---The declared effects that are not true.
---@param definition skillrt.Action
---@param before table
---@param after table
---@return string[]|nil
function M.broken_effects(definition, before, after)
  local broken
  for _, effect in ipairs(definition.effects) do
    local ok, why = effect.check(before, after)
    if not ok and not effect.kept then
      broken = broken or json.array({})
      broken[#broken + 1] = why and ("%s: %s"):format(effect.text, why) or effect.text
    end
  end
  return broken
end

-- Separates the updates and the context: an agent may set keys of the context among its updates, as `context = { key
-- = value }` (R6, R49); they are merged and never replace the whole context.
local function split_context(updates, context)
  local among = updates.context
  if not json.is_object(among) then
    return updates, context
  end
  local rest = {}
  for key, value in pairs(updates) do
    rest[key] = key ~= "context" and value or nil
  end
  return rest, tables.fill(tables.fill({}, among), context)
end

-- The context an agent or function set, or what is wrong with a name in it (F13).
local function judge_context(step, given)
  local context = step.live.context and next(step.live.context) ~= nil and step.live.context or given
  if not context or next(context) == nil then
    return nil
  end
  for key in pairs(context) do
    local id, problem = names.id(key)
    if not id then
      return nil, "context: a key " .. problem
    end
  end
  return tables.fill({}, context)
end

-- The state as effects will see it: the top-level fields after the update.
function M.preview(root, updates, move, context)
  return setmetatable({ state = move and move.to, context = context }, {
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

-- The invariants that the state would violate.
local function damages(run, kept, entry)
  local now, changes = run.books.state, {}
  for key in pairs(kept) do
    changes[key] = true
  end
  changes.context, changes.state = entry.context, entry.move
  local context = entry.context and {}
  for _, values in ipairs(context and { now.root.context, entry.context } or {}) do
    for key, value in pairs(values) do
      context[key] = value ~= json.null and value or nil
    end
  end
  return require("skillrt.skill.invariant").broken(run.skill.invariants, now,
    M.preview(now.root, kept, entry.move, context), changes, run.judged)
end

local function add_output(run, step, definition, words, entry)
  local output, file, message, code = words.output, nil, nil, nil
  if definition.output then
    output, file, message, code = output_files.keep(run, step, definition, words)
  end
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

local NOTHING <const> = {} -- of a step that returned only updates; never written to

-- What a step returned besides its updates: words, its output, keys of the context.
---@return table|nil failure
local function add_words(run, step, definition, words, entry, context)
  local problem
  if step.live.context or context then
    entry.context, problem = judge_context(step, context)
    if problem then
      return { class = M.unusable(step), message = problem }
    end
  end
  entry.summary = words.summary and record.printable(words.summary)
  entry.why = words.concerns and record.printable(words.concerns)
  entry.partial = words.status == "partial" or nil
  if not entry.partial then
    local message, code = add_output(run, step, definition, words, entry)
    if message then -- a full disk is no fault of the step: its result is kept
      return { class = "invalid_output", message = message, here = code ~= nil }
    end
  end
end

-- The rest of a step's record: what it said, and what its skill or its definition asks for.
---@return table|nil failure
local function add_more(run, step, definition, words, entry, context, kept, claims, has_tables)
  if words or context or step.live.context or definition.output then -- every phase has that
    local failure = add_words(run, step, definition, words or NOTHING, entry, context)
    if failure then
      return failure
    end
  end
  if run.skill.machine and not entry.partial then
    local failure = require("skillrt.run.moves").done(run, step, definition, entry, claims)
    if failure then
      return failure
    end
  end
  if #definition.effects > 0 then
    if has_tables then -- checked in their final form: what cannot be recorded is reported first
      local unfit = select(2, plain.copy(kept, "updates"))
      if unfit then
        return { class = M.unusable(step), message = "the result cannot be recorded: " .. unfit }
      end
    end
    local root = run.books.state.root
    entry.missed = M.broken_effects(definition, root, M.preview(root, kept, entry.move))
  end
  entry.checkpoint = definition.checkpoint
  if run.skill.invariants then
    entry.damaged = damages(run, kept, entry)
    entry.checkpoint = not entry.damaged and entry.checkpoint or nil
  end
end

-- The updates without fields meant for the machine, and without those that only the runtime writes.
local function taken_apart(skill, definition, kept)
  local claims, owned, problem
  if skill.machine then
    kept, claims = require("skillrt.run.moves").apart(kept)
  end
  if skill.kept then
    kept, owned, problem = require("skillrt.run.phases").done(skill, definition, kept)
  end
  return kept, claims, owned, problem
end

---Turns a step's result into its `done` record.
---@param run table  { skill, books, store }
---@param step skillrt.Step
---@param definition table
---@param updates table|nil
---@param words table|nil    what it returned besides: { status, summary, output, output_file, context, concerns }
---@return table|nil record
---@return table|nil failure  { class, message }
function M.record(run, step, definition, updates, words)
  local skill, books, kept, problem = run.skill, run.books, updates or NOTHING, nil
  local meta, context, claims, owned, replaced = getmetatable(kept), nil, nil, nil, nil
  if meta then -- a view, or a table that may raise when it is read
    kept, problem = plain.copy(kept, "updates")
    if problem then
      problem = "the result cannot be recorded: " .. problem
    end
  end
  if (skill.machine or skill.kept) and not problem then
    kept, claims, owned, problem = taken_apart(skill, definition, kept)
  end
  if problem then
    return nil, { class = M.unusable(step), message = problem }
  end
  if kept.context ~= nil or (words and words.context) then
    kept, context = split_context(kept, words and words.context)
  end
  local schema = skill.schema
  local unfit, refused, has_tables, some = judge_updates(schema, kept)
  if refused or has_tables or meta then
    kept = taken(kept, schema, refused or NONE)
    some = next(kept) ~= nil
  end
  refused = owned and json.array(tables.append(owned, refused or {})) or refused
  if not unfit and books.finished ~= step.after then -- other steps ran meanwhile
    kept, unfit, replaced = meeting.updates(run, step, kept)
  end
  if unfit then
    return nil, { class = M.unusable(step), message = unfit }
  end
  local at = wall_ms()
  kept = has_tables and keep_lists(books.state.root, kept) or kept
  local entry = { t = "done", step = step.number, set = some and kept or nil, at = at,
    ms = at - step.started_at }
  if refused or replaced then
    entry.refused, entry.replaced = refused, replaced
  end
  local failure = add_more(run, step, definition, words, entry, context, kept, claims, has_tables)
  return not failure and entry or nil, failure
end

return M
