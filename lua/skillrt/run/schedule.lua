-- run/schedule.lua: a schedule: a run without steps of its own that starts a run of its skill at each of its times.
--
-- A worker claims it like any run that is due, so only one has it at a time. The runs to start are recorded first,
-- and each has a name made from its time: if a worker dies in between, the next one starts the rest. Called by the
-- commands submit, resume and schedule.

local core = require("skillrt.core")
local cron = require("skillrt.base.cron")
local instant = require("skillrt.base.instant")
local look = require("skillrt.run.look")
local seal = require("skillrt.base.seal")
local store_of = require("skillrt.run.store")
local tables = require("skillrt.base.tables")
local travel = require("skillrt.run.travel")

local M = {}

local ON_TIME_MS <const> = 60000 -- a firing noticed later than this is missed
local SKEW_MS <const> = 5000     -- how far a database's clock may be ahead of ours
local MOST_AT_ONCE <const> = 100

---@class skillrt.Schedule  in the first record of a run
---@field cron string
---@field missed "skip"|"last"|"all"  which missed firings are made up for
---@field label table  of the runs that it starts, as core.label takes it

---@class skillrt.Firings
---@field begins integer[]  runs start for these, UTC ms
---@field missed integer[]  and for these none does
---@field due integer?      the next one; nil: the schedule is paused

---Which firings start a run, beginning with the first that was not considered yet.
---@param schedule skillrt.Schedule
---@param due integer
---@param now integer
---@return skillrt.Firings
function M.plan(schedule, due, now)
  local plan, at = { begins = {}, missed = {} }, due
  while at and at <= now and #plan.begins < MOST_AT_ONCE do
    local following = cron.next(schedule.cron, at)
    local is_last = not following or following > now
    local is_begun = now - at <= ON_TIME_MS or schedule.missed == "all" or schedule.missed == "last" and is_last
    local list = is_begun and plan.begins or plan.missed
    list[#list + 1] = at
    at = following
  end
  plan.due = at
  return plan
end

local function waits(due)
  return travel.stop("scheduled", due and "begins a run at " .. instant.iso(due) or "is paused", due)
end

local function record_of(plan)
  return { t = "fire", begins = plan.begins, missed = plan.missed[1] and plan.missed or nil, due = plan.due }
end

---Starts a schedule.
---@param store skillrt.Store
---@param first table    its first record
---@param blobs table[]  { digest, text }: the files that were submitted with it
---@param label table    what workers claim it by
---@param since integer  UTC ms: firings count from then on
---@return skillrt.Books|nil books
---@return string? message
---@return string? code
function M.submit(store, first, blobs, label, since)
  local due, problem = cron.next(first.schedule.cron, since - 1)
  if not due then
    return nil, problem, "invalid"
  end
  return travel.create(store, first, { record_of({ begins = {}, missed = {}, due = due }), waits(due) }, blobs, label)
end

-- The place and the name of the run that a firing begins.
local function run_at(place, at)
  local name = os.date("!%Y%m%d-%H%M%S-", at // 1000) .. store_of.name(place)
  return store_of.sibling(place, name), name
end

-- Starts the run of a firing, unless that has happened.
local function begin(place, first, at)
  local to, name = run_at(place, at)
  local began, message, code = look.first(to)
  if not began and code == "missing" then
    local own = tables.fill({}, first)
    own.run, own.schedule, own.at = name, nil, nil
    own.seal = seal.is_ours(first) and seal.of(own) or nil
    began, message, code = travel.create(store_of.at(to), own, { travel.stop("submitted", "waits for a worker", at) },
      travel.files_of(place, first), first.schedule.label)
  end
  return began, message, code
end

-- Records which runs start, starts them, and records that it has.
local function fire(place, first, books, plan)
  local begins = {}
  for _, list in ipairs({ books.schedule.firing, plan.begins }) do
    tables.append(begins, list)
  end
  local ok, message, code = true, nil, nil
  if plan.begins[1] or plan.missed[1] then
    ok, message, code = travel.write(place, { record_of({ begins = begins, missed = plan.missed, due = plan.due }),
      travel.stop("scheduled", "begins runs", core.wall_ms()) })
  end
  for _, at in ipairs(begins) do
    if ok then
      ok, message, code = begin(place, first, at)
    end
  end
  if not ok then
    return nil, message, code
  end
  return travel.write(place, { record_of({ begins = {}, missed = {}, due = plan.due }), waits(plan.due) })
end

-- The first record and the books of a schedule that has not ended.
local function opened(place)
  local first, message, code = look.first(place)
  if not first then
    return nil, message, code
  elseif not first.schedule then
    return nil, place .. ": is no schedule; skillrt submit --cron makes one", "invalid"
  end
  local books, why, cause = look.books(place)
  if books and look.has_ended(books) then
    return nil, ("%s: was %s"):format(place, books.status), "invalid"
  end
  return books and first, books or why, cause
end

---Starts what is due of a schedule, and waits for the next time.
---@param place string
---@return skillrt.Books|nil books
---@return string? message
---@return string? code
function M.look(place)
  local first, books, code = opened(place)
  if not first then
    return nil, books --[[@as string]], code
  end
  local store, now, due = store_of.at(place), core.wall_ms(), books.schedule.due
  for _, arrival in ipairs(store:take()) do
    store:refuse(arrival.name) -- a schedule takes none, and would be due for it again and again
  end
  if due and due <= now + SKEW_MS then
    return fire(place, first, books, M.plan(first.schedule, due, math.max(due, now)))
  end
  return fire(place, first, books, { begins = {}, missed = {}, due = due })
end

---Pauses a schedule, resumes it with its next time, or starts a run now.
---@param place string
---@param what "pause"|"resume"|"now"
---@return skillrt.Books|nil books
---@return string? message_or_run  the place of the run that `now` has begun
---@return string? code
function M.change(place, what)
  local first, books, code = opened(place)
  if not first then
    return nil, books --[[@as string]], code
  end
  local plan, now = { begins = {}, missed = {}, due = books.schedule.due }, core.wall_ms()
  if what == "now" then
    plan.begins[1] = now // 1000 * 1000
  else
    plan.due = what == "resume" and (plan.due or cron.next(first.schedule.cron, now)) or nil
  end
  local after, message, cause = fire(place, first, books, plan)
  if after and plan.begins[1] then
    return after, (run_at(place, plan.begins[1]))
  end
  return after, message, cause
end

return M
