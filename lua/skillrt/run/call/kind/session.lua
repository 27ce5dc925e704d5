-- run/call/kind/session.lua: a message to a session, which is a program that the step converses with: which of its
-- programs the message is for, by their number (`epoch`), what a new program is fed, and what happens when one has
-- ended. Found by its name.
--
-- The call is sent when its intent is durable; run/call/session.lua sends its message and receives its answer. Knows
-- the books. Also called by resume.lua.

local Session = require("skillrt.run.call.session")
local message = require("skillrt.run.message")
local names = require("skillrt.base.names")
local reply_of = require("skillrt.run.call.reply")
local transport = require("skillrt.run.call.transport")

---@class skillrt.call.Session: skillrt.CallKind
local M = setmetatable({}, { __index = transport })

-- An answer to a question of its program goes to that program only. Whether it runs.
local function has_asker(calls, call, open)
  if not call.request.follows or calls.sessions[call.request.session] then
    return true
  end
  local failed = { class = "lost", message = "the program that asked is gone" }
  calls:settle(call, { unsent = not open or nil, failed = failed })
  return false
end

function M.begin(calls, call)
  if has_asker(calls, call) then
    transport.begin(calls, call)
  end
end

function M.take_up(calls, call, open)
  if has_asker(calls, call, open) then
    transport.take_up(calls, call, open)
  end
end

-- How many messages are kept before those that no step needs are dropped.
local KEPT_LEAST <const> = 64

-- Forgets messages of steps that have finished, or started again.
local function sweep(calls, kept)
  kept.count = 0
  for said, entry in pairs(kept.by_said) do
    local step = entry.step
    local known = calls.run.books.steps[step.number] == step and step.known[entry.place]
    if known and known.said == said then
      kept.count = kept.count + 1
    else
      kept.by_said[said] = nil
    end
  end
  kept.most = math.max(KEPT_LEAST, 2 * kept.count)
end

-- The position of a call's message among all, if it was sent before.
local function said_before(call)
  local open = call:open()
  return open and open.said
end

-- Messages that are sent again, of this call and of those sent with it, by position: messages after them may depend
-- on them.
local function again(calls, call, name)
  local found = {}
  for _, other in pairs(calls.queue.under_way) do
    local request = (other == call or other.state == "due") and other.request
    local said = request and request.session == name and request.again == "feed" and said_before(other)
    if said then
      found[said] = { message = request.message, id = request.id, call = other }
    end
  end
  return found
end

-- What a new program of the session is fed: the messages of open steps, as they were sent and in order. Answers that
-- the old program gave are not delivered again.
local function fed_to(calls, call)
  local kept, list = calls.fed[call.request.session], {}
  if call.request.again ~= "feed" or not kept then
    return list
  end
  sweep(calls, kept)
  local told = again(calls, call, call.request.session)
  for said, entry in pairs(kept.by_said) do
    told[said] = entry
  end
  for said, entry in pairs(told) do
    list[#list + 1] = { said = said, message = entry.message, id = entry.id, call = entry.call }
  end
  table.sort(list, function(a, b) return a.said < b.said end)
  return list
end

-- Nothing is kept of a program that is fed everything again, or whose end its user handles.
local function is_kept(request)
  return not (request.pure or request.heard)
end

-- Which program of its session a message is for; starts one if none runs.
local function address(calls, call)
  local request, books = call.request, calls.run.books
  local name = request.session
  local session, talked = calls.sessions[name], call.step.talks[name]
  local is_lost = request.again == "lost" and talked and not call.renewed
  if is_lost and not (session and session.epoch == talked) then
    call.epoch = talked -- refused, as that has ended
    return
  elseif not session then
    local epoch = 1 + math.max(books.epochs and books.epochs[name] or 0, calls.begun[name] or 0)
    session = Session.new(calls, call, epoch)
    calls.sessions[name], calls.begun[name] = session, epoch
    session:feed(fed_to(calls, call))
  end
  call.epoch, call.follows = session.epoch, request.follows or (request.questions
    and message.read(request.message) == "answer") or nil
end

function M.fill(calls, call, _, entry)
  address(calls, call)
  transport.set_folder(calls, call, {}, entry)
  if is_kept(call.request) then
    entry.session, entry.epoch, entry.said = call.request.session, call.epoch,
      said_before(call) or (calls.run.books.said or 0) + 1
  end
end

---Nothing is sent yet: the engine reports when its intent is durable.
function M.send(calls, call)
  transport.send(calls, call)
  return { kind = "message" }
end

function M.replied(calls, call, reply)
  local session = calls.sessions[call.request.session]
  local is_canceled = call.state == "canceling" or calls.run.phase == "canceling"
  if call.world or reply.status ~= "ok" then
    reply_of.take(calls, call, reply)
  elseif is_canceled then -- its intent is durable, nothing more
    reply.status, reply.sent = "canceled", false
    reply_of.take(calls, call, reply)
  elseif session and session.epoch == call.epoch then
    session:take(call)
  else
    reply.status, reply.sent = "gone", false
    reply.message = ("%s: its program has ended"):format(call.request.session)
    reply_of.take(calls, call, reply)
  end
end

---Programs that ran when the run stopped ended with its process. How is unknown, and what they had sent without being
---recorded is lost.
---@param turn skillrt.Turn
function M.lost(turn)
  local talking = turn.books.talking
  for _, name in ipairs(names.sorted(talking)) do
    local epoch = talking[name]
    assert(turn:emit({ t = "event", name = "session:" .. name, ended = epoch,
      value = { ended = true, epoch = epoch } }))
  end
end

-- ---- answers ----

---Before its reply is judged: notes which program answered it.
function M.came(_, call, reply)
  if is_kept(call.request) then
    reply.epoch = call.epoch
  end
end

---A message that was not sent because its program had ended: it goes to the next one, if that can know enough.
function M.failed(calls, call, reply, failure)
  if reply.status ~= "gone" then
    return false
  elseif call.request.follows then
    calls:settle(call, { unsent = true, failed = { class = "lost", message = "the program that asked is gone" } })
    return true
  elseif call.request.again == "lost" and call.state ~= "canceling" then
    reply_of.doubt(calls, call, failure.message .. ", and what it knew is lost")
    return true
  end
  return false, 0
end

---It was answered, now or earlier: keeps the exchange for a new program.
function M.over(calls, call)
  local request, known = call.request, call.step.known[call.place]
  if request.again ~= "feed" or not (known and known.answered and known.said) then
    return
  end
  local kept = calls.fed[request.session] or { by_said = {}, count = 0, most = KEPT_LEAST }
  calls.fed[request.session] = kept
  kept.count = kept.count + (kept.by_said[known.said] and 0 or 1)
  kept.by_said[known.said] = { step = call.step, place = call.place, message = request.message, id = request.id }
  if kept.count > kept.most then
    sweep(calls, kept)
  end
end

return M
