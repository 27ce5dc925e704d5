-- report/runs.lua: the runs of a folder, each in one line, the newest first.
--
-- Takes no lock. Knows the books of runs, no terminal. Called by cli/selection.lua.

local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local status = require("skillrt.report.status")
local store = require("skillrt.run.store")
local text_of = require("skillrt.base.terminal_text")

local M = {}

---@class skillrt.RunFilter  a run must match all fields
---@field statuses table<string, boolean>|nil  in the words of look.standing
---@field waiting boolean|nil  paused, for something that comes by itself or from a person
---@field since integer|nil    UTC ms: its last record is no older
---@field gone boolean|nil     `since` does not exclude interrupted runs, as no record says when they stopped
---@field before integer|nil   UTC ms: its last record is older
---@field skill string|nil

local function matches(filter, one)
  local stands, at = one.status, one.at
  return stands and not (filter.statuses and not filter.statuses[stands.status]
    or filter.skill and stands.skill ~= filter.skill or filter.waiting and not look.waits(stands)
    or filter.since and at < filter.since and not (filter.gone and stands.status == "interrupted")
    or filter.before and at >= filter.before)
end

-- How a run is shown that did not stop properly.
local function read(place, is_held)
  local books, problem = look.books(place)
  if not books then
    return { dir = place, at = 0, problem = problem }
  end
  local stands = look.summary(books)
  stands.status, stands.held_by = look.standing(stands.status, is_held), is_held and store.at(place):holder()
  return { dir = place, at = stands.at, status = stands }
end

-- Cache of the ends of runs, by text: most runs end alike.
local MOST_ENDS <const> = 256

local function reader()
  local known, count = {}, 0
  return function(text)
    local stands = known[text]
    if not stands then
      known, count = count < MOST_ENDS and known or {}, count < MOST_ENDS and count + 1 or 1
      stands = json.decode(text) or {}
      known[text] = stands
    end
    return stands
  end
end

local function is_before(a, b)
  return a.at > b.at or a.at == b.at and a.dir < b.dir
end

---Calls `take` for the runs of a folder, the newest first, until it returns false. Keeps only a few in memory.
---@param folder string
---@param filter skillrt.RunFilter|nil
---@param take fun(one: table): boolean?  { dir, at, status = of look.summary } or { dir, at, problem }
---@return true|nil ok
---@return string? message
---@return string? code
function M.each(folder, filter, take)
  local unordered, first, more = {}, 1, true -- those to be shown first; their time is in their books
  local statuses, since = filter and filter.statuses, filter and filter.since
  local function give(one)
    if more and (not filter or matches(filter, one)) then
      more = take(one) ~= false
    end
  end
  local function give_before(one)
    if first == 1 then
      table.sort(unordered, is_before)
    end
    while more and unordered[first] and (not one or is_before(unordered[first], one)) do
      give(unordered[first])
      first = first + 1
    end
  end
  local stands_of = reader()
  local ok, message, code = store.list(folder, function(place, word, is_held, problem, at, about)
    if problem then
      unordered[#unordered + 1] = { dir = place, at = 0, problem = problem }
    elseif at then
      local one = { dir = place, at = at, status = stands_of(about) }
      if unordered[1] then
        give_before(one)
      end
      give(one)
      return more and not (since and at < since)
    elseif not statuses or statuses[look.standing(word, is_held)] then
      unordered[#unordered + 1] = read(place, is_held)
    end
  end)
  give_before()
  return ok, message, code
end

---The runs of a folder.
---@param folder string
---@param filter skillrt.RunFilter|nil
---@return table[]|nil list  as `each` gives them
---@return string? message
---@return string? code
function M.of(folder, filter)
  local list = {}
  local ok, message, code = M.each(folder, filter, function(one)
    list[#list + 1] = one
  end)
  return ok and list, message, code
end

local said = setmetatable({}, { __mode = "k" })

-- A run's status in a few words.
local function words(stands)
  if said[stands] then
    return said[stands]
  end
  local steps = ("%d %s"):format(stands.steps, stands.steps == 1 and "step" or "steps")
  local open = stands.questions
  local asked = open > 0 and (", %d open %s"):format(open, open == 1 and "question" or "questions") or ""
  said[stands] = ("%s, %s%s, "):format(status.stands(stands), steps, asked)
  return said[stands]
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
  local blanks = (" "):rep(width + 2)
  for i, one in ipairs(list) do
    local gap = blanks:sub(#out[i] + 1)
    out[i] = one.problem and out[i] .. gap .. text_of.escape(tostring(one.problem))
      or out[i] .. gap .. words(one.status) .. status.ago(one.at)
  end
  return out
end

return M
