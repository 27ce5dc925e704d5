-- document/write/stage.lua: changes of a folder that are made all or not at all, whatever is killed when.
--
-- Everything is written aside first. A folder that is not there yet then comes into being by one
-- rename. In one that is there, a commit record is written last of all aside: before it, nothing
-- has changed; after it, what is missing is made by whoever comes next (commit.settle). Called by
-- writer.lua.

local aside_of = require("skillrt.document.write.aside")
local commit = require("skillrt.document.write.commit")
local files = require("skillrt.base.files")

local M = {}

-- "a/b" -> "a", "b": what is staged lies beside it, on the same disk.
local function split(dir)
  local parent, name = dir:match("^(.*)/([^/]+)$")
  if not parent then
    return ".", dir
  end
  return parent == "" and "/" or parent, name
end

---A new folder with these files, by one rename.
---@param dir string  nothing lies there
---@param changes skillrt.writer.Change[]
---@param progress fun(done: number, total: integer)|nil
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.create(dir, changes, progress)
  local parent, name = split(dir)
  local prefix = "." .. name
  local ok, message, code = files.make_folders(parent)
  if ok then
    ok, message, code = aside_of.clear(parent, prefix)
  end
  if not ok then
    return nil, message, code
  end
  local aside = aside_of.path(parent, prefix)
  local staged <close> = aside_of.guard(aside)
  ok, message, code = aside_of.fill(aside, aside, changes, progress)
  if not ok then
    return nil, message, code
  end
  ok, message, code = files.rename(aside, dir)
  staged.keep = ok
  if not ok then
    return aside_of.failed(aside, message --[[@as string]], code --[[@as string]])
  end
  return true
end

local function part_of(progress, from)
  return progress and function(done, total)
    progress(from * total + done / 2, total)
  end
end

---Changes in a folder that is there.
---@param dir string
---@param changes skillrt.writer.Change[]
---@param progress fun(done: number, total: integer)|nil
---@return string[]|nil left  paths where something else lay than `before` says: not changed
---@return string? message
---@return string? code
function M.change(dir, changes, progress)
  local aside = aside_of.path(dir, "")
  local staged <close> = aside_of.guard(aside)
  local ok, message, code = aside_of.fill(aside, aside .. "/" .. commit.STAGED, changes, part_of(progress, 0))
  if not ok then
    return nil, message, code
  end
  local entries
  entries, message, code = commit.record(aside, changes)
  if not entries then
    return nil, message, code
  end
  staged.keep = true -- from here on it is the only truth about what is missing
  local left
  left, message, code = commit.make(dir, aside, entries, part_of(progress, 0.5))
  staged.keep = left == nil
  return left, message, code
end

return M
