-- run/call/session_url.lua: a session with a server behind a URL (streamable HTTP): each message is a POST; the
-- server's messages come with the replies or on a standing GET, which is sent after the opening and answered before
-- the first call is sent. A broken stream is continued after its last event.
--
--   kind      sent                               over
--   call      a message with an id               its answer came; it broke off; it was given up
--   note      any other message                  it was taken, or refused
--   standing  GET, once the opening is said      the session ends; the server offers none
--   last      DELETE, before the run stops       answered, whatever it is; 2 s
--
--   state     is                                 becomes
--   open      sent, or to be taken up again      left: nothing of it is waited for any more; closed: it is over
--   left      given 250 ms to end by itself      closed
--
-- A server that has forgotten the session (404) gets no more messages; calls waiting there may still be answered. The
-- session's user defines the messages and headers. Called by session.lua.

local core = require("skillrt.core")
local sandbox = require("skillrt.skill.sandbox")
local tables = require("skillrt.base.tables")
local text_of = require("skillrt.base.text")

local M = {}

---@class skillrt.SessionUrl
---@field id string|nil       the session id from the header that `keeps` names
---@field lasting table       headers that the answer to the opening asked for
---@field notes integer       under way
---@field streams skillrt.UrlStream[]
---@field standing "wanted"|"asked"|"heard"|"none"|"denied"  denied: the server wants other headers
---@field accepted boolean    it accepted a message after the opening
---@field is_given_back boolean|nil

---@class skillrt.UrlStream: skillrt.Errand
---@field kind "call"|"note"|"standing"|"last"
---@field key string|nil    of the answer that it brings, or of the call that it continues
---@field text string|nil   the message
---@field again integer     how often it was continued since its last message
---@field began integer
---@field event_id string|nil  of the last event
---@field opens boolean     its reply holds the answer to the opening
---@field state "open"|"left"|"closed"

local MOST_AGAIN <const> = 50 -- how often a silent stream is continued
local AGAIN_MS <const>, LONGEST_MS <const> = 1000, 60000 -- the delay, if the server names none; maximal
local STEADY_MS <const> = 10000 -- a stream that lasted this long may be continued without end
local STANDING_MS <const> = 250 -- ... minimal, for a stream that answers nothing
local HEAD_MS <const>, LEAVE_MS <const> = 2000, 250
local FOREVER_S <const>, NOTE_S <const>, BRIEF_S <const>, LAST_S <const> = 1e9, 60, 2.5, 2
local LONGEST_ID <const> = 1024

---@param session skillrt.LiveSession
function M.begin(session)
  session.url = { lasting = {}, notes = 0, streams = {}, standing = "wanted", accepted = false }
end

local function later(session, ms, ring)
  session.calls.due:put(core.mono_ms() + ms, { ring = ring })
end

local function is_fine(code)
  return code >= 200 and code <= 299
end

-- Whether a reply with these header lines is a stream.
local function is_stream(lines)
  return (text_of.header(lines, "content-type") or ""):lower():find("^text/event%-stream") ~= nil
end

-- ---- a request ----

local function close(stream)
  local streams = stream.session.url.streams
  for i, other in ipairs(streams) do
    if other == stream then
      table.remove(streams, i)
      stream.state = "closed"
      stream.session.calls.queue:give_up(stream)
      return
    end
  end
end

local function close_all(session, kind)
  for _, stream in ipairs({ table.unpack(session.url.streams) }) do
    if not kind or stream.kind == kind then
      close(stream)
    end
  end
end

-- Ends it in a moment, if it does not end itself.
local function leave(stream)
  stream.state = "left"
  later(stream.session, LEAVE_MS, function() close(stream) end)
end

local ACCEPTS <const> = { POST = "application/json, text/event-stream", GET = "text/event-stream",
  DELETE = "text/event-stream" }
local SECONDS <const> = { call = FOREVER_S, standing = FOREVER_S, note = NOTE_S, last = LAST_S }

-- Sends it, with the headers valid by now.
local function send(stream, method)
  local session = stream.session
  local url, user = session.url, session.user
  local headers = {}
  for _, list in ipairs({ user.headers or {}, url.lasting }) do
    tables.fill(headers, list)
  end
  headers.Accept, headers["Content-Type"] = ACCEPTS[method], method == "POST" and "application/json" or nil
  headers["Last-Event-ID"] = stream.event_id
  if url.id then
    headers[session.request.keeps] = url.id
  end
  local seconds = stream.is_brief and BRIEF_S or SECONDS[stream.kind]
  stream.began = core.mono_ms()
  stream.errand = { kind = "http", method = method, url = session.request.url, headers = headers, body = stream.text,
    addresses = sandbox.addresses(session.request, session.calls.run.skill), ca_file = session.request.ca_file,
    max_reply = session.request.max_reply, streams = true, timeout = seconds, idle_timeout = seconds }
  local queue = session.calls.queue
  if stream.kind == "note" or stream.kind == "last" then
    queue:act(stream)
  else
    queue:run(stream)
  end
end

-- Whether it starts again after a delay, from its last event.
local function goes_on(stream, reply)
  local stands = stream.kind == "standing"
  local wait = reply.retry_after_ms >= 0 and reply.retry_after_ms or AGAIN_MS
  if stands and core.mono_ms() - stream.began >= STEADY_MS then
    stream.again = 0
  end
  stream.event_id = reply.event_id or stream.event_id
  stream.again = stream.again + 1
  if stream.again > MOST_AGAIN or not (stands or stream.event_id) then
    return false
  end
  later(stream.session, math.min(math.max(wait, stands and STANDING_MS or 0), LONGEST_MS), function()
    if stream.state ~= "closed" then
      stream.text = nil
      send(stream, "GET")
    end
  end)
  return true
end

-- ---- what comes of it ----

-- The server does not know the session any more.
local function forgotten(session)
  if session.state == "ended" then
    return
  end
  close_all(session, "standing")
  session:close({ status = "gone", message = "the server forgot the session" })
end

-- A session that is forgotten before the server accepted a message is reopened once: a server that forgets again is
-- broken.
local function forgets(session, reply)
  local url, calls = session.url, session.calls
  if not url.id or not session:is_open() or reply.status ~= "ok" or reply.code ~= 404 then
    return false
  end
  local again = url.accepted or not calls.forgetful[session.name]
  calls.forgetful[session.name] = not url.accepted
  return again
end

-- Nothing more comes: tells the waiting calls why; without an answered opening the session ends.
local function fail(stream, reply)
  local session = stream.session
  close(stream)
  if session.state == "opening" then
    session:finish(reply)
    return
  elseif not stream.key then
    return
  end
  local is_gone = forgets(session, reply)
  local is_unknown = is_gone or reply.status == "ok" and reply.code == 404 and session.url.id ~= nil
  session:fail(stream.key, is_gone and { status = "gone", sent = false,
    message = ("%s: the server forgot the session"):format(session.name) } or reply)
  if is_unknown then
    forgotten(session)
  end
end

local function fail_lost(stream)
  fail(stream, { status = "broken", sent = true, message = "its stream ended without the answer" })
end

local OVER = {}

function OVER.call(stream, reply)
  local session = stream.session
  local is_ok = reply.status == "ok" and is_fine(reply.code)
  local was_taken_up = stream.text == nil
  if is_ok and session:is_open() then
    session.url.accepted = true
  end
  if is_ok and not is_stream(reply.extra) and reply.body ~= "" then
    stream:hear(reply.body)
  end
  local broke_off = is_ok or reply.status == "broken" or reply.status == "timeout"
  if stream.state == "closed" then
    return
  elseif stream.state == "left" then
    close(stream)
  elseif broke_off and (stream.event_id or reply.event_id) and goes_on(stream, reply) then
    return
  elseif is_ok or was_taken_up then
    fail_lost(stream)
  else
    fail(stream, reply)
  end
end

function OVER.note(stream, reply)
  local session = stream.session
  session.url.notes = session.url.notes - 1
  if not (reply.status == "ok" and is_fine(reply.code)) then
    fail(stream, reply)
    return
  end
  close(stream)
  if session:is_open() then
    session.url.accepted = true
  elseif session.state == "opening" and not session.opens_with then
    session:go_on()
  end
end

-- The standing request was answered, or will not be in time: calls may be sent.
local function stands(session, standing)
  local url = session.url
  local is_new = url.standing == "asked"
  url.standing = standing
  if is_new and session.state == "opening" then
    session:go_on()
  end
end

function OVER.standing(stream, reply)
  local session = stream.session
  local is_ok = reply.status == "ok"
  local stood = is_ok and reply.code == 200 and is_stream(reply.extra)
  local broke_off = reply.status == "broken" or reply.status == "timeout" or reply.status == "too_large"
    or reply.code >= 500 or stood
  if session.url.standing == "heard" and is_ok and reply.code == 404 then
    forgotten(session)
  elseif not broke_off or not goes_on(stream, reply) then
    close(stream) -- the server offers none
  end
  stands(session, is_ok and (reply.code == 401 or reply.code == 403) and "denied" or "none")
end

OVER.last = close

-- Handles what it brings.
local function stream_of(session, kind, fields)
  local stream = tables.fill({ session = session, kind = kind, again = 0, state = "open" }, fields)
  table.insert(session.url.streams, stream)

  function stream.over(_, reply)
    if stream.state ~= "closed" and reply.status ~= "canceled" then -- otherwise the run stops
      OVER[kind](stream, reply)
    end
  end

  function stream.hear(_, text)
    if kind == "standing" then
      stream.again = 0
    end
    session:hear(text, stream.key)
  end

  function stream.head(_, lines)
    local code = math.tointeger(tonumber(lines:match("^%d+"))) or 0
    local keeps, url = session.request.keeps, session.url
    if kind == "call" and is_fine(code) and not session:is_open() and keeps and not url.id then
      local id = text_of.header(lines, keeps:lower())
      url.id = id and #id <= LONGEST_ID and id:find("^[\33-\126]+$") and id or nil
    elseif kind == "standing" and is_fine(code) and is_stream(lines) then
      stands(session, "heard")
    end
  end
  return stream
end

local function stand(session)
  local stream = stream_of(session, "standing", {})
  session.url.standing = "asked"
  send(stream, "GET")
  later(session, HEAD_MS, function()
    if session.url.standing == "asked" then
      stands(session, "none")
    end
  end)
end

-- ---- called by session.lua ----

---Sends a message.
---@param session skillrt.LiveSession
---@param text string
---@param one skillrt.Waiting|nil
---@param is_brief boolean|nil
function M.tell(session, text, one, is_brief)
  local url = session.url
  local opens = session.state == "opening" and session.opens_with ~= nil and not is_brief
  local follows = one and one.call and one.call.follows
  local kind = (opens or one and not follows) and "call" or "note"
  if url.standing == "denied" then
    stand(session)
  end
  url.notes = url.notes + (kind == "note" and 1 or 0)
  send(stream_of(session, kind, { text = text, key = one and one.key, opens = opens, is_brief = is_brief }),
    "POST")
end

---Whether calls may be sent after the opening.
---@param session skillrt.LiveSession
---@return boolean
function M.is_ready(session)
  local url = session.url
  if url.standing == "wanted" and url.notes == 0 then
    stand(session)
  end
  return url.standing ~= "wanted" and url.standing ~= "asked"
end

---The opening was answered.
---@param session skillrt.LiveSession
---@param headers table  of what follows
function M.opened(session, headers)
  session.url.lasting = headers
  for _, stream in ipairs(session.url.streams) do
    if stream.opens and stream.state == "open" then
      leave(stream)
    end
  end
end

---Nobody waits for an answer with this key any more.
---@param session skillrt.LiveSession
---@param key string
---@param at_once boolean
function M.leave(session, key, at_once)
  for _, stream in ipairs({ table.unpack(session.url.streams) }) do
    if stream.kind == "call" and stream.key == key and stream.state == "open" then
      if at_once then
        close(stream)
      else
        leave(stream)
      end
    end
  end
end

---It is over.
---@param session skillrt.LiveSession
function M.finish(session)
  close_all(session)
end

---The run is to stop: ends the session at the server; whether that is under way.
---@param session skillrt.LiveSession
---@return boolean
function M.give_back(session)
  local url = session.url
  if not url.id or url.is_given_back then
    return false
  end
  url.is_given_back = true
  close_all(session)
  send(stream_of(session, "last", {}), "DELETE")
  return true
end

return M
