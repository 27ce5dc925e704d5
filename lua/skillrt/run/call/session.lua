-- run/call/session.lua: a session with a program or with a server behind a URL, from its opening to its end: when
-- messages are sent, which call a message answers, and what its end means for waiting calls.
--
-- Nothing is sent before a call's intent is durable. A program is a number of the engine, and so is each message to
-- it; session_url.lua sends messages to a URL. Called by kind/session.lua.

local arrivals = require("skillrt.run.books.arrivals")
local core = require("skillrt.core")
local json = require("skillrt.base.json")
local message = require("skillrt.run.message")
local record = require("skillrt.base.record")
local transport = require("skillrt.run.call.transport")

-- The states of a session:
--
--   from                          when                                            to
--   declared                      the intent of its first message is durable      opening
--   opening                       its opening was sent, and answered              feeding
--   feeding                       the messages replayed to it are answered        open
--   any but ended                 its program has ended, or is ended; its         ended
--                                 server has forgotten it
---@alias skillrt.SessionState "declared"|"opening"|"feeding"|"open"|"ended"

---@type table<skillrt.SessionState, table<skillrt.SessionState, true>>
local NEXT <const> = {
  declared = { opening = true, ended = true },
  opening = { feeding = true, ended = true },
  feeding = { open = true, ended = true },
  open = { ended = true },
  ended = {},
}

---@class skillrt.Waiting  a call that waits for an answer, or a replayed message
---@field call skillrt.Call|nil  nil: a replayed message, whose answer is dropped
---@field key string|nil   of the answer; nil: the next message is the answer
---@field message string
---@field at integer       its deadline, by steady.lua
---@field since integer
---@field has_left boolean
---@field is_read boolean|nil  its answer has arrived and is about to be delivered
---@field is_over boolean|nil
---@field is_fed boolean|nil
---@field owner skillrt.Call|nil  of a replayed message: the call that will ask for the answer
---@field answer table|nil     ... which has already arrived

---@class skillrt.Errand  a number of the engine that is no call
---@field errand table     its task
---@field number integer|nil  while it is under way
---@field over fun(self: skillrt.Errand, reply: table)
---@field hear nil|fun(self: skillrt.Errand, text: string)  a message came
---@field head nil|fun(self: skillrt.Errand, text: string)  the head of its reply came
---@field session skillrt.LiveSession

---@class skillrt.LiveSession
---@field state skillrt.SessionState  changed only by `become`
---@field calls skillrt.Calls
---@field name string
---@field epoch integer
---@field request table    of its first message: it defines the session
---@field user table       of the newest call: it takes messages that answer no call
---@field starter skillrt.Call
---@field program skillrt.Errand|nil
---@field url table|nil    behind a URL: its part in session_url.lua
---@field waiting skillrt.Waiting[]  the oldest first
---@field fed table<integer, skillrt.Waiting>  messages that are replayed, by position
---@field feeding integer  how many answers to them are awaited
---@field said integer     how many messages of the opening were sent
---@field opens_with string|nil  the key of the opening's answer that is awaited
---@field is_read boolean|nil  ... which has arrived and is about to be delivered
---@field asked table<string, table>  by key: calls that were answered by a question; { reply } once their own answer
---  has come
---@field questions string[]  its questions while no call accepted any
---@field questions_bytes integer
---@field alarm table|nil  in `due`: until the first waiting call times out
---@field overheard boolean  the note about too many messages was written
local Session = {}
Session.__index = Session

-- The longest wait for an answer; maximal bytes of waiting questions, and of stderr in an event.
local TIMEOUT_S <const>, QUESTIONS_KEPT <const>, ERRORS_TOLD <const> = 600, 1 << 20, 4096

---@param calls skillrt.Calls
---@param call skillrt.Call  its first message
---@param epoch integer
---@return skillrt.LiveSession
function Session.new(calls, call, epoch)
  local request = call.request
  local self = setmetatable({ state = "declared", calls = calls, name = request.session, epoch = epoch,
    request = request, user = request, starter = call, waiting = {}, fed = {}, feeding = 0, said = 0, asked = {},
    questions = {}, questions_bytes = 0, overheard = false }, Session)
  if request.url then
    self.way = require("skillrt.run.call.session_url")
    self.way.begin(self)
  end
  return self
end

---@param state skillrt.SessionState
function Session:become(state)
  if not NEXT[self.state][state] then
    error(("session %s: %s, and cannot become %s"):format(self.name, self.state, state))
  end
  self.state = state
end

---Whether its opening has finished, so that messages of calls may be sent.
---@return boolean
function Session:is_open()
  return self.state == "feeding" or self.state == "open"
end

-- ---- messages to it ----

local function ignore() end

-- The program of a session, until it ends.
local function start(self)
  local program = { session = self, errand = setmetatable({}, { __index = self.request }) }
  transport.set_folder(self.calls, self.starter, program.errand)
  function program.hear(_, text) self:hear(text) end
  function program.over(_, reply)
    if self.state ~= "ended" and reply.status ~= "canceled" then -- otherwise the run stops: what is open stays open
      self:finish(reply)
    end
  end
  self.program = program
  self.calls.queue:run(program)
end

---Sends a message.
---@param text string
---@param one skillrt.Waiting|nil  the one that waits for its answer
---@param is_brief boolean|nil  no call depends on its arrival
function Session:tell(text, one, is_brief)
  if self.way then
    self.way.tell(self, text, one, is_brief)
  elseif self.program.number then
    local errand = { kind = "message", to = self.program.number, message = text }
    local told = { session = self, errand = errand, over = ignore }
    if one then
      function told.over(_, reply)
        if reply.status == "refused" then -- it cannot be encoded
          self:give_up(one, "refused", reply.message)
        end
      end
    end
    self.calls.queue:act(told)
  end
end

local function leave(self, one)
  one.has_left = true
  self:tell(one.message, one)
end

-- Delivers questions and answers that came before the waiting calls asked for them.
local function serve(self)
  for _, one in ipairs({ table.unpack(self.waiting) }) do
    local asked = one.call and one.has_left and one.key and self.asked[one.key]
    if self.questions[1] and self:takes_questions(one) then
      local question = table.remove(self.questions, 1)
      self.questions_bytes = self.questions_bytes - #question
      self:put(one, question)
    elseif asked and asked.reply then
      self:answer(one, asked.reply)
    end
  end
end

-- Sends the messages of all calls that wait.
local function open(self)
  self:become("open")
  for _, one in ipairs({ table.unpack(self.waiting) }) do
    if not one.has_left then
      leave(self, one)
    end
  end
  serve(self)
end

-- A replayed message has its answer, or a call that waits for it.
local function feed_on(self)
  self.feeding = self.feeding - 1
  if self.state == "feeding" and self.feeding == 0 then
    open(self)
  end
end

---Sends the next messages of the opening; each that asks something is answered before the next one is sent.
function Session:go_on()
  local opening = self.request.opening or {}
  self.opens_with, self.is_read = nil, nil
  while self.said < #opening do
    self.said = self.said + 1
    local text = opening[self.said]
    local form, key = message.read(text)
    self.opens_with = form == "question" and key or nil
    self:tell(text)
    if self.opens_with then
      return
    end
  end
  if self.way and not self.way.is_ready(self) then
    return
  end
  self:become("feeding")
  for _, one in ipairs({ table.unpack(self.waiting) }) do
    if one.is_fed then
      leave(self, one)
    end
  end
  if self.feeding == 0 then
    open(self)
  end
end

---Replays the messages that were sent to an earlier program of the session, in order.
---@param told { said: integer, message: string, id: any, call: skillrt.Call|nil }[]
function Session:feed(told)
  local now, timeout = core.mono_ms(), self.request.timeout or TIMEOUT_S
  for _, entry in ipairs(told) do
    local one = { message = entry.message, key = message.key(entry.id), owner = entry.call, is_fed = true,
      has_left = false, since = now, at = now + math.ceil(timeout * 1000) }
    self.waiting[#self.waiting + 1], self.fed[entry.said], self.feeding = one, one, self.feeding + 1
  end
end

---The intent of a call is durable: sends its message, or queues it until the opening has finished.
---@param call skillrt.Call
function Session:take(call)
  local request, open_entry = call.request, call:open()
  local key, now = message.key(request.id), core.mono_ms()
  call.talk, self.user = self, request
  if not call.follows and key and self.asked[key] then
    self:forget(key, true)
  end
  local fed = self.fed[open_entry and open_entry.said or 0]
  if fed and fed.owner == call then -- it was replayed in its place
    fed.owner, fed.call, fed.at, fed.key = nil, call, now + math.ceil((request.timeout or TIMEOUT_S) * 1000), key
    if fed.answer then
      self:answer(fed, fed.answer)
      return
    end
    feed_on(self)
  else
    local one = { call = call, key = key, message = request.message, since = now, has_left = false,
      at = now + math.ceil((request.timeout or TIMEOUT_S) * 1000) }
    self.waiting[#self.waiting + 1] = one
    if self.state == "open" then
      leave(self, one)
      serve(self)
    end
  end
  if self.state == "declared" then
    self:become("opening")
    if not self.way then
      start(self)
    end
    self:go_on()
  end
  self:arm()
end

-- ---- messages from it ----

---Whether a waiting call accepts a question as its answer.
---@param one skillrt.Waiting
---@return boolean
function Session:takes_questions(one)
  return self.state ~= "feeding" and one.has_left and one.call ~= nil and one.call.request.questions == true
end

-- The call that a message answers; false: that call does not wait now.
local function addressee(self, form, key, origin)
  if origin and form == "question" then
    for _, one in ipairs(self.waiting) do
      if one.key == origin and self:takes_questions(one) then
        return one
      end
    end
    if self.asked[origin] then
      return false
    end
  end
  for _, one in ipairs(self.waiting) do
    local is_his = not one.key and one.has_left or form == "answer" and key == one.key
      or form == "question" and self:takes_questions(one)
    if is_his then
      return one
    end
  end
end

---No call waits for an answer with this key any more.
---@param key string
---@param at_once boolean
function Session:forget(key, at_once)
  self.asked[key] = nil
  if self.way then
    self.way.leave(self, key, at_once)
  end
end

local function remove(self, one)
  for i, other in ipairs(self.waiting) do
    if other == one then
      table.remove(self.waiting, i)
      return self:arm()
    end
  end
end

-- A reply in the form of a transport's.
local function reply_of(one, fields)
  local reply = { status = "ok", sent = true, code = 0, body = "", extra = "", retry_after_ms = -1, message = "",
    elapsed_ms = core.mono_ms() - one.since }
  for name, value in pairs(fields) do
    reply[name] = value
  end
  return reply
end

---Delivers the reply of a waiting call.
---@param one skillrt.Waiting
---@param fields table  of the reply
---@param is_asked boolean|nil  it is a question: the call's own answer is still to come
function Session:answer(one, fields, is_asked)
  local call = one.call
  if one.is_over then
    return
  elseif call then
    self.calls:answer(call, reply_of(one, fields))
  end
  one.is_over = true
  remove(self, one)
  if one.key and not is_asked then
    self:forget(one.key, fields.status ~= nil and fields.status ~= "ok")
  end
end

---No answer with this key will come: fails the call that waits, or the one that asks for it later.
---@param key string
---@param fields table  of the reply
function Session:fail(key, fields)
  local asked = self.asked[key]
  for _, one in ipairs(self.waiting) do
    if one.key == key then
      return self:answer(one, fields)
    end
  end
  if asked and not asked.reply then
    asked.reply = { status = fields.status == "ok" and "broken" or fields.status,
      message = (fields.message or "") ~= "" and fields.message or "its answer was refused" }
  end
end

---Gives a question to a call that waits, as its answer.
---@param one skillrt.Waiting
---@param text string
function Session:put(one, text)
  if one.key then
    self.asked[one.key] = self.asked[one.key] or {}
  end
  self:answer(one, { body = text }, true)
end

-- Whether its user takes a message; the watcher is shown its text.
local function is_taken(self, value)
  local heard, watcher = self.user.heard, self.calls.watcher
  local taken, id, text
  if heard then
    taken, id, text = heard(value)
  end
  for _, one in ipairs(text and watcher and self.waiting or {}) do
    if one.call and one.call.request.id == id then
      one.call:show(watcher, text)
      break
    end
  end
  return taken
end

-- A message that answers no call becomes an event of the session's name, recorded before later messages are read. The
-- number that may wait is bounded; a note reports further ones once.
local function overhear(self, text, value)
  local calls = self.calls
  local source = "session:" .. self.name
  if text == "" or self.feeding > 0 or calls.run.phase == "stopped"
    or is_taken(self, value) then
    return
  elseif (calls.run.books.events_count or 0) < arrivals.MOST then
    if value == nil or value == json.null then
      value = record.printable(text)
    end
    assert(calls.journal:emit({ t = "event", name = source, value = value }))
    calls:event_came(source)
  elseif not self.overheard then
    self.overheard = true
    local said = "%s: sends too many messages: %d wait for ctx.wait; further ones are dropped"
    calls.journal:note(said:format(source, arrivals.MOST))
  end
end

-- The opening was answered: later messages follow what the answer says, or there is no session.
local function opened(self, text, value)
  overhear(self, text, value)
  local take = self.user.opened
  local headers, refusal
  if take then
    headers, refusal = take(value)
  end
  if refusal then
    self:finish({ status = "refused", sent = true, message = refusal })
  else
    if self.way then
      self.way.opened(self, headers or {})
    end
    self:go_on()
  end
end

---Reads a message from it.
---@param text string
---@param origin string|nil  the key of the call on whose stream it came
function Session:hear(text, origin)
  local form, key, value = message.read(text)
  local replies = self.user.replies
  if form == "list" and self.way then
    for _, part in ipairs(message.parts(value)) do
      self:hear(part, origin)
    end
    return
  elseif form == "answer" and key == self.opens_with then
    return opened(self, text, value)
  elseif form == "question" and replies and replies[value.method] then
    return self:tell(('{"jsonrpc":"2.0","id":%s,"result":%s}'):format(key, replies[value.method]), nil, true)
  end
  local one = addressee(self, form, key, origin)
  local asked = form == "answer" and self.asked[key]
  if one and not one.call then
    one.answer = one.owner and { body = text }
    if not one.owner then
      remove(self, one)
    end
    feed_on(self)
  elseif one and form == "question" then
    self:put(one, text)
  elseif one then
    self:answer(one, { body = text })
  elseif asked and not asked.reply then
    asked.reply = { body = text }
    if self.way then
      self.way.leave(self, key, false)
    end
  elseif form == "question" and self.request.questions and self.state ~= "feeding" then
    if self.questions_bytes + #text <= QUESTIONS_KEPT then
      self.questions[#self.questions + 1], self.questions_bytes = text, self.questions_bytes + #text
    end
  else
    overhear(self, text, value)
  end
end

-- The call that waits for an answer with this key; a message without a key goes to the next waiting call.
local function awaited(self, key)
  for _, one in ipairs(self.waiting) do
    if not one.is_read and (not one.key or key == one.key) then
      return one
    end
  end
  return self.asked[key] or key == self.opens_with and self or nil
end

---Whether a call waits for this message: then the engine keeps it however many others wait. One message per call.
---@param text string
---@return boolean
function Session:awaits(text)
  local form, key, value = message.read(text)
  if form == "list" and self.way then
    for _, part in ipairs(message.parts(value)) do
      if self:awaits(part) then
        return true
      end
    end
    return false
  end
  local one = awaited(self, form == "answer" and key or 0)
  local is_first = one ~= nil and not one.is_read
  if one then
    one.is_read = true
  end
  return is_first
end

-- ---- its time ----

---Sets its alarm to the earliest deadline of the waiting calls.
function Session:arm()
  local due, at = self.calls.due, nil
  for _, one in ipairs(self.waiting) do
    at = math.min(at or one.at, one.at)
  end
  if self.alarm and self.alarm.at ~= at then
    due:drop(self.alarm)
    self.alarm = nil
  end
  if at and not self.alarm then
    self.alarm = { at = at, ring = function()
      self.alarm = nil
      self:give_up_late()
    end }
    due:put(at, self.alarm)
  end
end

---Gives up the calls whose time has passed.
function Session:give_up_late()
  for _, one in ipairs({ table.unpack(self.waiting) }) do
    if one.at <= core.mono_ms() then
      self:give_up(one, "timeout", "no answer in time")
    end
  end
  self:arm()
end

---Gives up a call. If it has no id, answers to later calls could be taken for its own, so the session ends.
---@param one skillrt.Waiting
---@param status string
---@param why string
function Session:give_up(one, status, why)
  local left = one.has_left
  local is_out_of_step = not one.key or not left or not one.call
  local withdraw = not is_out_of_step and one.call.request.withdraw
  if withdraw then -- before the branch's next call is sent
    self:tell(withdraw, nil, true)
  end
  self:answer(one, { status = status, sent = left, message = ("%s: %s"):format(self.name, why) })
  if is_out_of_step and self.state ~= "ended" then
    self:finish({ status = "broken", sent = true, is_ours = true, message = left
      and "ended, because a call without an id got no answer in time" or "ended, because the opening got no answer" })
  end
end

---A call is canceled.
---@param call skillrt.Call
function Session:cancel(call)
  for _, one in ipairs(self.waiting) do
    if one.call == call then
      return self:give_up(one, "canceled", "canceled")
    end
  end
end

-- ---- its end ----

-- Records its end as an event, too.
local function tell_end(self, reply)
  local calls, value = self.calls, { ended = true, epoch = self.epoch }
  local talking, source = calls.run.books.talking, "session:" .. self.name
  if calls.run.phase == "stopped" or not talking or talking[self.name] ~= self.epoch then
    return
  elseif not self.way and (reply.status == "ok" or reply.status == "killed") then
    value[reply.status == "ok" and "code" or "signal"] = reply.code
    value.stderr = reply.extra ~= "" and record.printable(reply.extra:sub(-ERRORS_TOLD)) or nil
  else
    local words = reply.message ~= "" and reply.message or ("HTTP %d"):format(reply.code)
    value.message = record.printable(("%s: %s"):format(self.name, words))
  end
  assert(calls.journal:emit({ t = "event", name = source, ended = self.epoch, value = value }))
  calls:event_came(source)
end

---Ends the session: nothing more is sent.
---@param reply table  how it ended
function Session:close(reply)
  local calls = self.calls
  self:become("ended")
  if calls.sessions[self.name] == self then
    calls.sessions[self.name] = nil
  end
  tell_end(self, reply)
end

---It has ended, or must end: fails the waiting calls.
---@param reply table  of its program; or why it is ended
function Session:finish(reply)
  local has_exited = reply.status == "ok" and not self.way
  local words = has_exited and ("ended with exit code %d before it answered"):format(reply.code) or reply.message
  self:close(reply)
  if self.way then
    self.way.finish(self)
  elseif self.program and self.program.number then
    self.calls.queue:give_up(self.program)
  end
  for _, one in ipairs({ table.unpack(self.waiting) }) do
    self:answer(one, {
      status = has_exited and "broken" or reply.status,
      sent = reply.sent and one.has_left,
      code = reply.code,
      body = self.way and reply.body or nil,
      extra = reply.extra,
      retry_after_ms = reply.retry_after_ms,
      message = words ~= "" and ("%s: %s"):format(self.name, words) or nil,
    })
  end
end

return Session
