-- run/turn/pause.lua: what a run waits for when nothing is under way, and whether its process stays for that.
--
-- The process stays for a wait of a minute; for a person, an event or a later time the run pauses, and says for what
-- and until when: a sleep, or an attempt that a provider's limit delays for hours. Knows turn, calls and books;
-- decides, changes nothing. Called by turn.lua.

local core = require("skillrt.core")
local questions = require("skillrt.run.books.questions")
local instant = require("skillrt.base.instant")
local names = require("skillrt.base.names")
local soft_deadline = require("skillrt.run.call.soft_deadline")
local steady = require("skillrt.run.steady")

---@class skillrt.Rest
---@field turn skillrt.Turn
---@field at integer|nil     the time of the last record, when it began to rest
---@field since integer|nil  of steady.lua: when that was
local Rest = {}
Rest.__index = Rest

---@param turn skillrt.Turn
---@return skillrt.Rest
function Rest.new(turn)
  return setmetatable({ turn = turn }, Rest)
end

---A run stays for what is due within this time.
local PATIENCE_MS <const> = 60 * 1000

-- Why an attempt waits: how the previous one ended.
local function failure_of(what)
  local open = what.place and what.step.calls[what.place]
  local failed = what.place and open and open.failed or what.failures and what.failures[#what.failures]
  local gate = what.place and what.request.gate
  return failed and failed.message or gate and gate:why()
end

-- The next due time, and what is waited for; true: an attempt is due soon, and the process stays for it.
local function next_due(turn)
  local due, soon, at, why = turn.calls.due, nil, nil, nil
  for i = 1, due.count do
    local item = due[i]
    local what, is_attempt = item.what, nil
    if not what.place then -- of a step
      is_attempt = turn.books.steps[what.number] == what or nil
    elseif what:is_awaited() then
      is_attempt = what.state ~= "asked"
    end
    soon = soon or is_attempt and core.mono_ms() + PATIENCE_MS
    if is_attempt and item.at <= soon then
      return true
    elseif is_attempt ~= nil then
      local utc = what.instant or steady.utc(item.at)
      if utc < (at or math.huge) then
        at, why = utc, is_attempt and failure_of(what) or nil
      end
    end
  end
  return at, why
end

---When the first wait or attempt is due, where tests and replays let time pass; a wait that only looks at the time
---has none.
---@param turn skillrt.Turn
---@param leaves_out nil|fun(what: table): boolean
---@return integer|nil at  of steady.lua
function Rest.due_at(turn, leaves_out)
  local due, at = turn.calls.due, nil
  for i = 1, due.count do
    local item = due[i]
    local what = item.what
    local is_waited = what.place and what:is_awaited()
      or not what.place and not what.watches and turn.books.steps[what.number] == what
    if is_waited and not (leaves_out and leaves_out(what)) then
      at = math.min(at or item.at, item.at)
    end
  end
  return at
end

-- Whether the run waits for a running program's messages.
local function listens_to_a_session(calls)
  for name in pairs(calls.waiters) do
    local session = name:match("^session:(.+)$")
    if session and calls.sessions[session] then
      return true
    end
  end
  return false
end

local function names_of(waiters)
  local list = names.sorted(waiters)
  for i, event in ipairs(list) do
    list[i] = "the " .. names.awaited(event)
  end
  return names.listed(list, 5)
end

-- What the run waits for, in words.
local function told(open, waiters, at, why)
  local list = {}
  if #open == 1 and not next(waiters) and not at then
    return open[1].question.question
  elseif #open > 0 then
    list[1] = #open == 1 and "1 question is open" or ("%d questions are open"):format(#open)
  end
  if next(waiters) then
    list[#list + 1] = "waits for " .. names_of(waiters)
  end
  if at then
    list[#list + 1] = ("resumes automatically at %s%s"):format(instant.iso(at), why and ": " .. why or "")
  end
  return table.concat(list, "; ")
end

-- Until when, by steady.lua, a host keeps a run with a long wait loaded; then it parks (unloads) it.
local function stays_until(self, at)
  local turn = self.turn
  local most = turn.session.park_ms
  if not most or turn.run.keeps_nothing or at and at - core.wall_ms() <= most then
    return nil
  end
  if self.at ~= turn.books.at then
    self.at, self.since = turn.books.at, core.mono_ms()
  end
  return self.since + most
end

---Whether a run with nothing under way pauses; nil: it stays.
---@return "pause"|"again"|nil decision
---@return string|integer|nil reason  if it stays: until when, by steady.lua
---@return string? message
---@return integer? due  UTC ms: when it resumes automatically
function Rest:decide()
  local turn = self.turn
  local calls, session, world = turn.calls, turn.session, turn.run.world
  if world and world:idle(turn) then
    return "again" -- something has come, or time has passed
  end
  local waiters, open = calls.waiters, questions.list(turn.books)
  local at, why = next_due(turn)
  if at == true or turn.arrivals.has_come or listens_to_a_session(calls) then
    return nil
  elseif not (at or open[1] or next(waiters)) then
    local reason, message
    if turn.subs then
      reason, message = turn.subs:stuck()
    end
    return reason and "pause", reason, message
  end
  local stays = session.wait and not turn.arrivals.deaf
  local parked_at = stays and stays_until(self, at) or nil
  if stays and not (parked_at and parked_at <= core.mono_ms()) then
    soft_deadline.rest(calls)
    turn.run.limits:rest(open[1] ~= nil and not at and not next(waiters))
    return nil, parked_at
  elseif not stays and at and at - core.wall_ms() <= PATIENCE_MS
    and not (session.attended and open[1]) then
    return nil
  end
  local reason = calls.doubts[1] and "needs_decision"
    or open[1] and "waiting_for_person"
    or next(waiters) and "waiting_for_event"
    or "waiting_for_time"
  return "pause", reason, told(open, waiters, at, why), at
end

return Rest
