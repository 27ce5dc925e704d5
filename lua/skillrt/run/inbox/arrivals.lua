-- run/inbox/arrivals.lua: answers and events from outside, on their way into a live run: in the order in which they
-- came, between the times that were due before and after them.
--
-- Recorded first, then acted on; a file goes only when its record is durable. Knows policy, inbox, questions
-- and waits. Called by policy.lua.

local arrived = require("skillrt.run.books.arrived")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local programs = require("skillrt.run.call.programs")
local questions = require("skillrt.run.questions")
local steady = require("skillrt.run.steady")

-- Sessions: loaded where a run has one.
local function session()
  return require("skillrt.run.call.kind.session")
end

local M = {}

-- Until the inbox is looked at again where it could not be read, and how often that is tried.
local AGAIN_MS <const>, MOST_UNREAD <const> = 100, 100

-- It is told why, and put aside.
local function refuse(policy, what, why)
  local text = what.file and ("inbox/%s: %s"):format(what.file, why) or why
  assert(policy:emit({ t = "note", text = policy.steps.printable(what.problem or text) }))
  if what.file then
    policy.inbox:refuse(what.file)
  end
end

-- An event is kept until somebody takes it.
local function keep(policy, what)
  local books = policy.books
  local problem = names.problem_of_event(what.event)
  if not problem and (books.events_count or 0) >= arrived.MOST then
    problem = ("the event %s is not taken: %d wait already, and nobody takes them"):format(what.event, arrived.MOST)
  end
  if problem then
    return nil, problem
  end
  local ok, why = policy:emit({ t = "event", name = what.event, value = what.value, arrival = what.arrival })
  if ok then
    policy.calls.unmatched[what.event] = true
  end
  return ok, why
end

local function take(policy, what)
  if what.problem then
    return refuse(policy, what)
  elseif not (what.arrival and arrived.is_seen(policy.books, what.arrival)) then -- else it was put twice
    local ok, why
    if what.event then
      ok, why = keep(policy, what)
    else
      ok, why = questions.take(policy, what)
    end
    if not ok then
      return refuse(policy, what, why)
    end
  end
  if what.file then
    policy.inbox:take(what.file)
  end
end

---Takes what has come.
---@param policy skillrt.Policy
---@param ring fun(policy: skillrt.Policy, upto: integer)  lets ring what was due until then
function M.take(policy, ring)
  local now, list = policy.run.core.wall_ms(), {}
  local handed = policy.handed or {}
  policy.handed, policy.has_arrived = nil, false
  if policy.inbox then
    local whole
    list, whole = policy.inbox:look(now)
    policy.unread = not whole and (policy.unread or 0) + 1 or nil
    if not whole and policy.unread <= MOST_UNREAD then -- no descriptors now: it lies there
      policy.has_arrived, policy.resting = true, steady.now() + AGAIN_MS
    end
  end
  local answered = {}
  policy.run.limits:rest(false)
  for _, what in ipairs(handed) do
    list[#list + 1] = what
    answered[what.question or 0] = true
  end
  for _, what in ipairs(list) do
    ring(policy, steady.at(policy.run, what.came or now))
    if what.file and answered[what.question] then
      refuse(policy, what, "whoever resumed the run gave another answer")
    else
      take(policy, what)
    end
  end
end

-- What a host gave: an answer or an event as JSON, of the same form as a file of the inbox.
local function hand_over(policy, bytes)
  local entry, why = json.decode(bytes)
  local what
  if type(entry) ~= "table" then
    what = { problem = "what was handed to the run is no JSON object: " .. tostring(why) }
  elseif entry.event then
    what = { event = entry.event, value = entry.value == nil or entry.value, arrival = entry.id }
  else
    what = { question = entry.question, value = entry.answer, nonce = entry.nonce,
      approval = entry.approval, arrival = entry.id }
  end
  policy.handed = policy.handed or {}
  table.insert(policy.handed, what)
  policy.has_arrived, policy.calls.used = true, true
end

---Something came: it is looked at with the next choice.
---@param policy skillrt.Policy
---@param source string
---@param bytes string
function M.noticed(policy, source, bytes)
  if source == "inbox" then
    policy.has_arrived, policy.calls.used = true, true
  elseif source == "deaf" then
    policy.deaf = true
    local text = policy.steps.printable(bytes .. "; what is put there is taken by a resume")
    assert(policy:emit({ t = "note", text = text }))
  elseif source == "answer" or source == "event" then
    hand_over(policy, bytes)
  elseif source:find("^started:") then
    programs.started(policy, math.tointeger(tonumber(source:sub(9))), bytes)
  elseif source:find("^session:") then
    session().said(policy, source, bytes)
  elseif source:find("^ended:") then
    session().ended(policy, source:sub(7), bytes)
  elseif source == "missed" then
    session().missed(policy, bytes)
  end
end

return M
