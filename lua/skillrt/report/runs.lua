-- report/runs.lua: the runs that lie in a folder, each in one line, the newest first.
--
-- Takes no lock. Knows the books of runs, no terminal. Called by cli/selection.lua.

local json = require("skillrt.base.json")
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

local function matches(filter, stands)
  local at = stands.at
  return not (filter.skill and stands.skill ~= filter.skill or filter.waiting and not look.waits(stands)
    or filter.since and at < filter.since or filter.before and at >= filter.before)
end

-- What is shown of a run: read only where it was not stopped in order.
local function read(one)
  local stands = one.about and not one.is_held and json.decode(one.about)
  if not (stands and stands.at) then
    local books, problem = look.books(one.url)
    if not books then
      return { dir = one.url, at = 0, problem = problem }
    end
    stands = look.summary(books)
  end
  stands.status, stands.held_by = look.standing(stands.status, one.is_held), one.is_held and store.at(one.url):holder()
  return { dir = one.url, at = stands.at, status = stands }
end

---The runs of a folder.
---@param folder string
---@param filter skillrt.RunFilter|nil
---@return table[]|nil list  { dir, at, status = of look.summary } or { dir, at, problem }, the newest first
---@return string? message
---@return string? code
function M.of(folder, filter)
  local runs, message, code = store.list(folder)
  if not runs then
    return nil, message, code
  end
  local list = {}
  local statuses = filter and filter.statuses
  for _, one in ipairs(runs) do
    if not statuses or one.status and statuses[look.standing(one.status, one.is_held)] then
      local found = read(one)
      if not filter or found.status and matches(filter, found.status) then
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
  local open = stands.questions
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
