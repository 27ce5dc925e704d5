-- report/runs.lua: the runs that lie in a folder, each in one line, the newest first.
--
-- Takes no lock. Knows the books of runs, no terminal. Called by cli/selection.lua.

local look = require("skillrt.run.look")
local status = require("skillrt.report.status")
local store = require("skillrt.run.store")
local text_of = require("skillrt.base.terminal_text")

local M = {}

---@class skillrt.RunFilter  a run has to meet all of it
---@field statuses table<string, boolean>|nil  as look.standing says them
---@field waiting boolean|nil  paused, for something that comes by itself or from a person
---@field since integer|nil    UTC ms: its last record is no older
---@field before integer|nil   UTC ms: its last record is older
---@field skill string|nil

local function matches(filter, stands, at)
  return not (filter.skill and stands.skill ~= filter.skill or filter.waiting and not look.waits(stands)
    or filter.since and at < filter.since or filter.before and at >= filter.before)
end

-- What is shown of a run; `kept` has those that were read before, as far as a list shows them.
local function read(one, kept)
  local dir = one.url
  local stamp = kept and store.at(dir):stamp()
  local known = stamp and kept[dir]
  stamp = stamp and stamp .. tostring(one.is_held)
  if known and known.stamp == stamp then
    return known
  end
  local books, report = look.books(dir)
  if not books then
    return { dir = dir, at = 0, problem = report }
  end
  local found = { dir = dir, at = books.at, status = status.of(dir, books, report --[[@as table]]) }
  if stamp then
    local all = found.status
    kept[dir] = { dir = dir, at = books.at, stamp = stamp, status = { skill = all.skill, status = all.status,
      reason = all.reason, questions = all.questions, steps = all.steps, updated_at = all.updated_at } }
  end
  return found
end

---The runs of a folder.
---@param folder string
---@param filter skillrt.RunFilter|nil
---@param kept table<string, table>|nil  of who lists again and again: filled here
---@return table[]|nil list  { dir, status = of report.status } or { dir, problem }, the newest first
---@return string? message
---@return string? code
function M.of(folder, filter, kept)
  local runs, message, code = store.list(folder)
  if not runs then
    return nil, message, code
  end
  local list = {}
  local statuses = filter and filter.statuses
  for _, one in ipairs(runs) do
    if not statuses or one.status and statuses[look.standing(one.status, one.is_held)] then
      local found = read(one, kept)
      if not filter or found.status and matches(filter, found.status, found.at) then
        list[#list + 1] = found
      end
    end
  end
  table.sort(list, function(a, b)
    return a.at > b.at or (a.at == b.at and a.dir < b.dir)
  end)
  return list
end

-- How a run stands, in a few words.
local function words(one)
  local stands = one.status
  if one.problem then
    return text_of.escape(tostring(one.problem))
  end
  local steps = ("%d %s"):format(stands.steps, stands.steps == 1 and "step" or "steps")
  local open = stands.questions and #stands.questions or 0
  local asked = open > 0 and (", %d open %s"):format(open, open == 1 and "question" or "questions") or ""
  return ("%s, %s%s, %s"):format(status.stands(stands), steps, asked, status.ago(one.at))
end

---The lines of a list, escaped.
---@param list table[]
---@return string[]
function M.lines(list)
  local width, out = 0, {}
  for i, one in ipairs(list) do
    out[i] = text_of.escape(one.dir)
    width = math.max(width, #out[i])
  end
  for i, one in ipairs(list) do
    out[i] = ("%s%s  %s"):format(out[i], (" "):rep(width - #out[i]), words(one))
  end
  return out
end

return M
