-- run/call/kind/session.lua: a message to a session, which is a program one talks to: which of its programs it is for,
-- by their number (`epoch`), what follows where that one has ended, and what it says unasked. Found by its name.
--
-- The core refuses a message whose program does not run, so that none goes to another than was recorded. Knows the
-- books; starts, bytes and answers are the core's (csrc/transport/session.c). Called by arrivals.lua, resume.lua, too.

local arrivals = require("skillrt.run.books.arrivals")
local json = require("skillrt.base.json")
local message = require("skillrt.run.message")
local names = require("skillrt.base.names")
local record = require("skillrt.base.record")
local reply_of = require("skillrt.run.call.reply")
local transport = require("skillrt.run.call.transport")

---@class skillrt.call.Session: skillrt.CallKind
local M = setmetatable({}, { __index = transport })

-- An answer to what its program asked goes to that program alone. Whether it runs.
local function has_asker(calls, call, open)
  if not call.request.follows or calls.talks[call.request.session] then
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

-- How many messages are kept before it is looked which of them nobody will need.
local KEPT_LEAST <const> = 64

-- Forgets messages of steps that are over, or began anew.
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

-- The place of a call's message among all, where it was said before.
local function said_before(call)
  local open = call:open()
  return open and open.said
end

-- Messages that are said again, of this call and of those that leave with it, by their places: what was answered
-- behind them may need them.
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

-- What a new program of the session is told: messages of steps that are open, as they were sent and in that order.
-- What was answered is answered to nobody.
local function feed(calls, call, request, task)
  local kept, order, messages, ids = calls.fed[request.session], {}, {}, {}
  if request.again ~= "feed" or not kept then
    return
  end
  sweep(calls, kept)
  local told = again(calls, call, request.session)
  for said, entry in pairs(kept.by_said) do
    told[said] = entry
  end
  for said in pairs(told) do
    order[#order + 1] = said
  end
  table.sort(order)
  for i, said in ipairs(order) do
    local entry = told[said]
    messages[i], ids[i] = entry.message, message.key(entry.id) or ""
    if entry.call then
      entry.call.fed_in, entry.call.fed_at = calls.talks[request.session], i
    end
  end
  task.fed, task.fed_ids = messages, ids
end

-- Of a program that is told all again, or whose end its user sees to, nothing is kept.
local function is_kept(request)
  return not (request.pure or request.heard)
end

-- For which program of its session a message is, and whether that begins with it.
local function address(calls, call, task)
  local request, books = call.request, calls.run.books
  local name = request.session
  local talked = call.step.talks[name]
  call.epoch, call.begins = calls.talks[name], nil
  if request.again == "lost" and talked and not call.renewed then
    call.epoch = talked -- refused where that has ended
  elseif not call.epoch then
    call.epoch = 1 + math.max(books.epochs and books.epochs[name] or 0, calls.begun[name] or 0)
    call.begins, calls.talks[name], calls.begun[name] = true, call.epoch, call.epoch
    feed(calls, call, request, task)
  end
  if call.begins then
    task.opening_ids = message.keys(request.opening)
  end
  task.epoch, task.begins, calls.users[name] = call.epoch, call.begins, request
  task.follows = request.follows or (request.questions and message.answers(request.message)) or nil
  task.fed_at, call.fed_at = call.fed_in == call.epoch and call.fed_at or nil, nil
end

function M.fill(calls, call, task, entry)
  transport.set_folder(calls, call, task)
  address(calls, call, task)
  if is_kept(call.request) then
    entry.session, entry.epoch, entry.said = call.request.session, call.epoch,
      said_before(call) or (calls.run.books.said or 0) + 1
  end
end

-- ---- what it says unasked, and its end ----

-- At once, so that nothing that comes behind it is recorded, or acts, before it.
local function keep(turn, entry)
  entry.t = "event"
  assert(turn:emit(entry))
  turn.calls.unmatched[entry.name] = true
end

-- The call of a session that waits for the answer with this id.
local function waiting(calls, session, id)
  for _, what in pairs(calls.queue.under_way) do
    local request = what.place and what.request
    if request and request.session == session and request.id == id then
      return what
    end
  end
end

-- Whether a session's user takes what was said; its text is shown to who watches.
local function is_heard(turn, name, value)
  local user = turn.calls.users[name]
  local taken, id, text
  if user and user.heard then
    taken, id, text = user.heard(value)
  end
  local call = text and turn.watcher and waiting(turn.calls, name, id)
  if call then
    call:show(turn.watcher, text)
  end
  return taken
end

---A program said something that answers no call: an event of the session's name. What nobody takes is bounded;
---that more was said is told once.
---@param turn skillrt.Turn
---@param source string  "session:<name>"
---@param bytes string
function M.said(turn, source, bytes)
  local value = json.decode(bytes)
  if turn.run.phase == "stopped" or is_heard(turn, source:sub(9), value) then
    return -- its last record is written, and the program ends
  elseif (turn.books.events_count or 0) < arrivals.MOST then
    if value == nil or value == json.null then
      value = record.printable(bytes)
    end
    keep(turn, { name = source, value = value })
  elseif not turn.overheard then
    turn.overheard = true
    local text = "%s: says more than is taken: %d messages wait for ctx.wait; what comes now is left out"
    turn.journal:note(text:format(source, arrivals.MOST))
  end
end

---More was said at once than could be kept.
---@param turn skillrt.Turn
---@param source string
function M.missed(turn, source)
  turn.journal:note(source .. ": said more at once than is kept; some of it is lost")
end

---A program has ended: an event, with how.
---@param turn skillrt.Turn
---@param source string  "<epoch>:<c, s or w><number>:<name>"
---@param bytes string   the end of its errors; w: why it was ended
function M.ended(turn, source, bytes)
  local number, how, code, name = source:match("^(%d+):(%a)(%-?%d+):(.+)$")
  local epoch, talking = math.tointeger(tonumber(number)), turn.books.talking
  M.forget(turn.calls, name, epoch)
  if turn.run.phase == "stopped" or not talking or talking[name] ~= epoch then
    return
  end
  local value = { ended = true, epoch = epoch }
  if how == "w" then
    value.message = record.printable(bytes)
  else
    value[how == "s" and "signal" or "code"] = math.tointeger(tonumber(code))
    value.stderr = bytes ~= "" and record.printable(bytes) or nil
  end
  keep(turn, { name = "session:" .. name, ended = epoch, value = value })
end

---Programs that ran when the run stopped ended with its process: nobody knows how, and what they had said and was
---not recorded is lost with them.
---@param turn skillrt.Turn
function M.lost(turn)
  local talking = turn.books.talking
  for _, name in ipairs(names.sorted(talking)) do
    local epoch = talking[name]
    assert(turn:emit({ t = "event", name = "session:" .. name, ended = epoch,
      value = { ended = true, epoch = epoch } }))
  end
end

---The program of that number does not run any more.
---@param calls skillrt.Calls
---@param name string
---@param epoch integer
function M.forget(calls, name, epoch)
  if calls.talks[name] == epoch then
    calls.talks[name] = nil
  end
end

-- ---- answers ----

---Before its reply is judged: whether its program is gone.
function M.came(calls, call, reply)
  if reply.status == "gone" or (call.begins and reply.sent == false) then
    M.forget(calls, call.request.session, call.epoch)
  end
  if is_kept(call.request) then
    reply.epoch = call.epoch
  end
end

---A message that was not sent, as its program had ended before: it is for the next one, where that can know enough.
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

---It was answered, now or before: what was said is kept for a program that begins.
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
