-- outcome.lua: what of a step's result may enter the books.
--
-- Refuses reserved fields and dotted keys, checks declared types and declared effects, writes
-- a phase's output file. Knows the skill and the ledger, no agents, no journal. Called by
-- policy.lua.

local files = require("skillrt.files")
local json = require("skillrt.json")
local state = require("skillrt.state")

local M = {}

local TYPE_CHECKS = {
  string = function(v)
    return type(v) == "string"
  end,
  number = function(v)
    return type(v) == "number"
  end,
  boolean = function(v)
    return type(v) == "boolean"
  end,
  object = function(v)
    return type(v) == "table" and not json.is_array(v)
  end,
}

local function fits(declared, value)
  if value == json.null then
    return true
  elseif declared:sub(-2) == "[]" then
    return type(value) == "table" and (json.is_array(value) or next(value) == nil)
  end
  local check = TYPE_CHECKS[declared]
  return not check or check(value)
end

local function describe(value)
  if type(value) == "table" then
    return json.is_array(value) and "an array" or "an object"
  end
  return "a " .. type(value)
end

-- The updates that may be merged, the reserved names that were left out, or what is wrong.
local function judge_updates(skill, updates)
  local kept, refused = {}, nil
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
      local declared = skill.schema and skill.schema[key]
      if declared and not fits(declared, value) then
        return nil, ("update %q: declared as %s, got %s"):format(key, declared, describe(value))
      end
      -- An empty Lua table for a list stays a list.
      if type(value) == "table" and next(value) == nil and declared and declared:sub(-2) == "[]" then
        value = json.array(value)
      end
      kept[key] = value
    end
  end
  if refused then
    table.sort(refused)
  end
  return kept, nil, refused
end

-- An empty table replaces a list by a list, not by an object.
local function keep_lists(root, updates)
  for key, value in pairs(updates) do
    if type(value) == "table" and next(value) == nil and not getmetatable(value) then
      if json.is_array(root[key]) then
        updates[key] = json.array({})
      end
    end
  end
end

local function broken_effects(definition, before, after)
  local broken
  for _, effect in ipairs(definition.effects or {}) do
    local ok, why = effect.check(before, after)
    if not ok then
      broken = broken or json.array({})
      broken[#broken + 1] = why and ("%s: %s"):format(effect.text, why) or effect.text
    end
  end
  return broken
end

-- The state as the effects will find it: the top-level fields after the update.
local function preview(root, updates)
  return setmetatable({}, {
    __index = function(_, key)
      local value = updates[key]
      if value == json.null then
        return nil
      elseif type(value) == "table" and type(root[key]) == "table" and not json.is_array(value) then
        local books = state.new({ at = root[key] })
        books:patch({ at = value })
        return books.root.at
      elseif value ~= nil then
        return value
      end
      return root[key]
    end,
  })
end

---The text of an output file: by its name JSON, or text as it is (R24, F5).
---@param name string
---@param value any
---@return string|nil text
---@return string? message
function M.output_text(name, value)
  if type(value) == "string" and not name:find("%.json$") then
    return value
  end
  local text, message = json.encode(value, { indent = 2 })
  return text and text .. "\n", message
end

---Writes an output below the work directory.
---@param work_dir string
---@param name string  relative
---@param value any
---@return boolean|nil ok
---@return string? message
function M.write_output(work_dir, name, value)
  local text, message = M.output_text(name, value)
  if not text then
    return nil, ("%s: %s"):format(name, message)
  end
  local path = files.join(work_dir, name)
  local ok, why = files.make_folders(files.dirname(path))
  if not ok then
    return nil, why
  end
  return files.write(path, text)
end

-- What an agent wrote to its output file itself, for conditions and later phases.
local function read_output(path)
  local text = files.read(path)
  if text and path:find("%.json$") then
    local value = json.decode(text)
    if value ~= nil then
      return value
    end
  end
  return text
end

-- The phase's output: returned and written here, or written by the agent already (R23, F5).
local function settle_output(run, definition, outcome)
  local name = definition.output
  if not name then
    return outcome.output
  end
  if outcome.output ~= nil then
    if run.ledger.context_strategy ~= "memory" then
      local ok, message = M.write_output(run.work_dir, name, outcome.output)
      if not ok then
        return nil, message
      end
    end
    return outcome.output
  end
  if run.ledger.context_strategy == "memory" then
    return json.null
  end
  local path = files.join(run.work_dir, name)
  if not files.stat(path) then
    return nil, ("its output %s was neither returned nor written to %s"):format(name, path)
  end
  return read_output(path) or json.null
end

---Turns an outcome into the `done` record of its step.
---@param run table  { skill, ledger, work_dir }
---@param step skillrt.Step
---@param definition table
---@param outcome table  { status, updates, summary, output, context, concerns }
---@return table|nil record
---@return table? failure  { class, message }
function M.settle(run, step, definition, outcome)
  local updates, problem, refused = judge_updates(run.skill, outcome.updates or {})
  if not updates then
    return nil, { class = "invalid_output", message = ("%s: %s"):format(step.id, problem) }
  end
  local root = run.ledger.state.root
  keep_lists(root, updates)
  local record = {
    t = "done",
    step = step.number,
    set = next(updates) ~= nil and updates or nil,
    refused = refused,
    summary = outcome.summary,
    why = outcome.concerns,
    partial = outcome.status == "partial" or nil,
  }
  if step.context and next(step.context) ~= nil then
    record.context = step.context
  elseif outcome.context and next(outcome.context) ~= nil then
    record.context = outcome.context
  end
  if step.kind == "phase" and not record.partial then
    local output, message = settle_output(run, definition, outcome)
    if output == nil and message then
      return nil, { class = "invalid_output", message = ("%s: %s"):format(step.id, message) }
    end
    record.out = output
    record.file = definition.output
    if run.ledger.context_strategy == "memory" and output ~= nil then
      record.context = record.context or {}
      record.context[step.id .. "_output"] = output
    end
  end
  if definition.effects and #definition.effects > 0 then
    record.missed = broken_effects(definition, root, preview(root, updates))
  end
  return record
end

return M
