-- document/write/commit.lua: the changes that a staging folder's commit record lists, made one by one, so
-- that whoever is killed among them leaves to the next what is missing, and no more.
--
-- A change is made only where what it expects still lies there: what a person did in between
-- stays. Called by writer/stage.lua and writer.lua.

local aside_of = require("skillrt.document.write.aside")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local place = require("skillrt.document.write.place")

local M = {}

local RECORD = "commit.json"
local MAXIMUM = 256 << 20 -- bytes of a record

---In a staging folder: what its record's changes put in place.
M.STAGED = "files"

---@class skillrt.writer.Entry
---@field path string
---@field before string?  digest of what lies there; nil: nothing
---@field after string?   digest of what is to lie there; nil: nothing

local function digest_of(path)
  local text, message, code = files.read(path)
  if not text then
    return nil, message, code
  end
  return files.digest(text)
end

-- Folders that the removal of a file left empty go too.
local function remove_empty(dir, path)
  local folder = path:match("^(.*)/[^/]*$")
  while folder and files.remove(dir .. "/" .. folder) do
    folder = folder:match("^(.*)/[^/]*$")
  end
end

local function remove(dir, target, entry)
  local ok, message, code = files.remove(target)
  if ok then
    remove_empty(dir, entry.path)
  end
  return ok, message, code
end

local function put_in_place(aside, target, entry)
  local ok, message, code = files.make_folders(files.dirname(target))
  if ok then
    ok, message, code = files.rename(("%s/%s/%s"):format(aside, M.STAGED, entry.path), target)
  end
  if ok or digest_of(target) == entry.after then -- another process was faster
    return true
  end
  return aside_of.failed(aside, message --[[@as string]], code --[[@as string]])
end

-- One change; "left" where something else lies there than was expected.
local function make_change(dir, aside, entry)
  local target, now = dir .. "/" .. entry.path, nil
  local kind, message, code = place.look(dir, entry.path, {})
  if not kind then
    return nil, message, code
  elseif kind == "file" then
    now, message, code = digest_of(target)
    if not now then
      return nil, message, code
    end
  elseif kind ~= "absent" then
    return "left"
  end
  if now == entry.after then
    return "done"
  elseif now ~= entry.before then
    return "left"
  elseif entry.after then
    return put_in_place(aside, target, entry)
  end
  return remove(dir, target, entry)
end

---Makes the changes that are not made yet.
---@param dir string
---@param aside string
---@param entries skillrt.writer.Entry[]
---@param progress fun(done: integer, total: integer)|nil
---@return string[]|nil left  paths where something else lies than the record expects
---@return string? message
---@return string? code
function M.make(dir, aside, entries, progress)
  local left = {}
  for i, entry in ipairs(entries) do
    local done, message, code = make_change(dir, aside, entry)
    if not done then
      return nil, message .. "; the changes that are missing are made by the next skillrt generate here", code
    elseif done == "left" then
      left[#left + 1] = entry.path
    end
    if progress then
      progress(i, #entries)
    end
  end
  return left
end

---Writes the record: from here on the changes count as made.
---@param aside string
---@param changes skillrt.writer.Change[]
---@return skillrt.writer.Entry[]|nil entries
---@return string? message
---@return string? code
function M.record(aside, changes)
  local entries = {}
  for i, change in ipairs(changes) do
    entries[i] = { path = change.path, before = change.before, after = change.text and files.digest(change.text) }
  end
  local ok, message, code = files.write(aside .. "/" .. RECORD, assert(json.encode(json.array(entries))))
  if not ok then
    return aside_of.failed(aside, message --[[@as string]], code --[[@as string]])
  end
  return entries
end

local function damaged(path)
  return nil, path .. ": is damaged; remove the folder it lies in, then generate with --force", "corrupt"
end

-- Nil where no record was reached. No file is moved that a power cut left half written.
local function read_record(aside)
  local path = aside .. "/" .. RECORD
  if not files.stat(path) then
    return nil
  end
  local text, message, code = files.read(path, MAXIMUM)
  if not text then
    return nil, message, code
  end
  local entries = json.decode(text)
  if type(entries) ~= "table" then
    return damaged(path)
  end
  for _, entry in ipairs(entries) do
    if type(entry) ~= "table" or type(entry.path) ~= "string" or not files.is_confined(entry.path) then
      return damaged(path)
    end
    local staged = ("%s/%s/%s"):format(aside, M.STAGED, entry.path)
    if entry.after and files.stat(staged) and digest_of(staged) ~= entry.after then
      return damaged(staged)
    end
  end
  return entries
end

---Whether an interrupted change of a folder waits to be finished.
---@param dir string
---@return boolean
function M.is_unfinished(dir)
  for _, aside in ipairs(aside_of.all(dir, "") or {}) do
    if files.stat(aside .. "/" .. RECORD) then
      return true
    end
  end
  return false
end

local function settle_one(dir, aside, settled)
  local entries, message, code = read_record(aside)
  if code then
    return nil, message, code
  elseif entries then
    local left
    left, message, code = M.make(dir, aside, entries)
    if not left then
      return nil, message, code
    end
    table.move(left, 1, #left, #settled.left + 1, settled.left)
    settled.finished = settled.finished + 1
  end
  return place.remove_tree(aside)
end

---Finishes changes of a folder that were interrupted, and removes what was only staged.
---@param dir string
---@return { finished: integer, left: string[] }|nil settled
---@return string? message
---@return string? code
function M.settle(dir)
  local found, message, code = aside_of.all(dir, "")
  if not found then
    return nil, message, code
  end
  local settled = { finished = 0, left = {} }
  for _, path in ipairs(found) do
    local aside = aside_of.claim(path, dir, "")
    if aside then
      local ok, why, what = settle_one(dir, aside, settled)
      if not ok then
        return nil, why, what
      end
    end
  end
  return settled
end

return M
