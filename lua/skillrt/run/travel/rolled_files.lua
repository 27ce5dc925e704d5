-- run/travel/rolled_files.lua: restores files that tools wrote to a place of a run, computed backwards from their
-- present content by the journal's records of each write; and sets later outputs aside.
--
-- A file that somebody else changed since is never touched, only reported. Called by travel.lua, damage.lua, and when
-- a run is resumed whose rollback was interrupted: everything to be done is in its record.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local output_files = require("skillrt.run.output_files")
local look = require("skillrt.run.look")
local record = require("skillrt.base.record")

local M = {}

local LONGEST <const> = 16 << 20

---@class skillrt.Write  one write of a file, by a tool or a rollback
---@field root string
---@field name string     below it
---@field before string?  the file's digest; nil: it did not exist
---@field after string?
---@field text string?    its earlier content, if that is kept
---@field back table?     { at, old, length }: what an edit replaced
---@field seq integer

-- The writes of each file, in order.
local function writes_of(dir)
  local all, order = {}, {}
  local function add(write, seq, text)
    local key = write.root .. "\0" .. write.name
    if not all[key] then
      all[key] = {}
      order[#order + 1] = key
    end
    write.seq, write.text = seq, text
    table.insert(all[key], write)
  end
  local ok, message, code = look.some(dir, function(entry, seq)
    local value = entry.t == "result" and entry.value
    if type(value) == "table" and type(value.wrote) == "table" then
      add(value.wrote, seq, value.text)
    end
    for _, write in ipairs(entry.t == "rollback" and entry.files or {}) do
      add(write, seq, (entry.texts or {})[write.before or ""])
    end
  end, { '"wrote"', '"t":"rollback"' })
  if not ok then
    return nil, message, code
  end
  return all, order
end

-- The content of a file before a write; false: it did not exist; nil: no longer known.
local function before_of(write, after)
  local text
  if not write.before then
    return false
  elseif write.text then
    text = write.text
  elseif write.back and after and core.sha256(after) == write.after then
    local back = write.back
    text = after:sub(1, back.at) .. back.old .. after:sub(back.at + back.length + 1)
  end
  return text and core.sha256(text) == write.before and text or nil
end

-- The content of a file before its write number `first`; or nil and why that is not known.
local function restored(list, first, text, digest)
  for i = #list, first, -1 do
    local is_after = digest == list[i].after
    if is_after or digest == list[i].before then
      local from = is_after and i or i - 1
      for j = from, first, -1 do
        text = before_of(list[j], text)
      end
      if text == nil then
        return nil, "its earlier content was not recorded"
      end
      return text
    end
  end
  return nil, "somebody else has changed it since"
end

local function digest_of(text)
  return text and core.sha256(text) or nil
end

---The changes that restore files to their content after a record.
---@param dir string
---@param seq integer
---@return table[]|nil changes  { root, name, before, after, text = now, to = then (false: removed) }
---@return table[]|string left  { path, now, was, why }: files that are not changed; digests
---@return string? code
function M.plan(dir, seq)
  local all, order, code = writes_of(dir)
  if not all then
    return nil, order, code
  end
  local changes, left = {}, {}
  for _, key in ipairs(order) do
    local list, first = all[key], nil
    for i = #list, 1, -1 do
      first = list[i].seq > seq and i or first
    end
    local root, name = list[1].root, list[1].name
    local was = first and list[first].before
    local text = first and files.kept(root, name, LONGEST) or nil
    local now = digest_of(text)
    if first and not text and files.stat(root, name) then
      left[#left + 1] = { path = files.join(root, name), was = was, why = "it cannot be read" }
    elseif first and now ~= was then
      local to, why = restored(list, first, text or false, now)
      if to == nil then
        left[#left + 1] = { path = files.join(root, name), now = now, was = was, why = why }
      else
        changes[#changes + 1] = { root = root, name = name, before = now, after = was, text = text, to = to }
      end
    end
  end
  return changes, left
end

---Adds to the record of a rollback which files it changes, so that the rollback can itself be rolled back.
---@param entry table  the record
---@param changes table[]
function M.tell(entry, changes)
  for _, change in ipairs(changes) do
    entry.files, entry.texts = entry.files or {}, entry.texts or {}
    table.insert(entry.files, { root = change.root, name = change.name, before = change.before,
      after = change.after })
    if change.text and utf8.len(change.text) then
      entry.texts[change.before] = change.text
    end
  end
end

-- The present content of an output file: its digest; LARGE: too long to read; nil: it does not exist, or why it
-- cannot be read.
local LARGE <const> = "large"
local function held(store, name)
  local text, message, code = store:kept(name, LONGEST)
  if text or code == "limit" then
    return text and core.sha256(text) or LARGE
  end
  return nil, code ~= "missing" and code ~= "invalid" and message or nil -- a link is not our file
end

-- The content of an output file by the books, as a value; nil: they know none.
local function output_of(books, name)
  local id = books.outputs[name]
  return id and books.state.root.outputs[id]
end

-- The files that the newest rollback was to set aside.
local function pending(dir)
  local aside = {}
  local ok, message, code = look.some(dir, function(entry)
    aside = entry.t == "rollback" and entry.aside or {}
  end, { '"t":"rollback"' })
  if not ok then
    error({ message = message, code = code }, 0)
  end
  return aside
end

---Adds to the record of a rollback which output files are set aside, by their present content: those that differ from
---the place, and those that an interrupted rollback left.
---@param entry table  the record
---@param store skillrt.Store
---@param books skillrt.Books  as they are
---@param there skillrt.Books
function M.tell_outputs(entry, store, books, there)
  local aside = {}
  for name in pairs(books.outputs) do
    if core.json.encode(output_of(books, name)) ~= core.json.encode(output_of(there, name)) then
      local digest, message = held(store, name)
      if message then
        error({ message = message, code = "system" }, 0)
      end
      aside[name] = digest
    end
  end
  for name, digest in pairs(books.rolled and pending(store.place) or {}) do
    local wanted = output_of(there, name)
    if wanted == nil or digest_of(output_files.text_of(name, wanted)) ~= digest then
      aside[name] = aside[name] or digest
    end
  end
  entry.aside = next(aside) and aside or nil
end

---@param store skillrt.Store
---@param aside table<string, string>|nil  of the record of a rollback
---@param seq integer
---@return string? message  why one could not be set aside
function M.put_aside(store, aside, seq)
  for name, digest in pairs(aside or {}) do
    local to = ("%s.rolled-back-%d"):format(name, seq)
    local now, message = held(store, name)
    if now == digest and not (digest == LARGE and store:stat(to)) then
      message = select(2, store:move(name, to))
    end
    if message then
      return message
    end
  end
end

---@param changes table[]
---@return string[] paths  files that were written or removed
---@return string? message  why one could not be
function M.apply(changes)
  local paths = {}
  for _, change in ipairs(changes) do
    local path = files.join(change.root, change.name)
    local message
    if change.to then
      message = select(2, files.put(change.root, change.name, change.to))
    else
      message = select(2, files.remove(path))
    end
    if message then
      return paths, message
    end
    paths[#paths + 1] = path
  end
  return paths
end

---A run is resumed after a rollback that was interrupted, or that did not restore files.
---@param turn skillrt.Turn
---@param seq integer
function M.finish(turn, seq)
  local store = turn.run.store
  local changes, left, code = M.plan(store.place, seq)
  local written, message = M.apply(changes or {})
  message = message or M.put_aside(store, pending(store.place), seq)
  if not changes or message then
    error({ message = message or left, code = code or "system" }, 0)
  end
  for _, path in ipairs(written) do
    assert(turn:emit({ t = "note", text = record.printable(path) .. ": is as it was there" }))
  end
end

return M
