-- report/changes.lua: what a record changes in the state, value by value: the old and the new one.
--
-- Follows the records of a journal with books of its own. Knows merge patches, no journal file. Called by
-- cli/command/log.lua and differs.lua.

local books_of = require("skillrt.run.books")
local cut = require("skillrt.base.text").cut
local json = require("skillrt.base.json")
local state_of = require("skillrt.skill.state")
local text_of = require("skillrt.base.terminal_text")

local M = {}

local LONGEST <const> = 120 -- bytes of a value that are shown

---@class skillrt.Change
---@field path string  "findings.high"
---@field from any     nil: there was no value
---@field to any       nil: it was removed

local is_object = json.is_object

-- RFC 7386: null removes, objects are merged, everything else replaces.
local function add(list, path, old, new)
  if new == json.null then
    new = nil
  elseif is_object(new) and (is_object(old) or old == nil and next(new) ~= nil) then
    local keys = {}
    for key in pairs(new) do
      keys[#keys + 1] = tostring(key)
    end
    table.sort(keys)
    local before = is_object(old) and old or {}
    for _, key in ipairs(keys) do
      add(list, path == "" and key or path .. "." .. key, before[key], new[key])
    end
    return
  end
  if old == json.null then
    old = nil
  end
  if old ~= nil or new ~= nil then
    list[#list + 1] = not state_of.equal(old, new) and { path = path, from = old, to = new } or nil
  end
end

---What differs between two states.
---@param before table
---@param after table
---@return skillrt.Change[]
function M.between(before, after)
  local list = {}
  add(list, "", before, state_of.diff(before, after))
  return list
end

---@return { of: fun(self: table, record: table, seq: integer): skillrt.Change[] }
function M.new()
  local books = books_of.new()
  local self = {}
  -- Takes the records in order.
  function self.of(_, record, seq)
    local list = {}
    if record.start then
      books_of.apply(books, require("skillrt.run.record").start_in(record))
      record.start = nil
    end
    local scope = record.step and books.steps[record.step] and books.steps[record.step].sub
    local state = scope and books.subs[scope].state or books.state
    local root = state and state.root or {}
    local prefix = scope and ("[Sub-run %s] "):format(scope) or ""
    if record.t == "done" or record.t == "edit" then
      add(list, "", root, record.set or {})
      for _, key in ipairs(require("skillrt.base.names").sorted(record.context or {})) do
        add(list, "context." .. key, (root.context or {})[key], record.context[key])
      end
      local step = record.step and books.steps[record.step]
      if step and record.out ~= nil then
        add(list, "outputs." .. step.id, (root.outputs or {})[step.id], record.out)
      end
    end
    for _, change in ipairs(list) do
      change.path = prefix .. change.path
    end
    books_of.apply(books, record, seq)
    return list
  end
  return self
end

local function shown(value)
  local text = json.encode(value) or "?"
  return text_of.escape(cut(text, LONGEST, ("... (%d bytes)"):format(#text)))
end

---A change in one line, escaped.
---@param change skillrt.Change
---@return string
function M.line(change)
  local path = text_of.escape(change.path)
  if change.from == nil then
    return ("+ %s: %s"):format(path, shown(change.to))
  elseif change.to == nil then
    return ("- %s: %s"):format(path, shown(change.from))
  end
  return ("~ %s: %s -> %s"):format(path, shown(change.from), shown(change.to))
end

return M
