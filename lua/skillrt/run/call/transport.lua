-- run/call/transport.lua: the common part of calls that are sent through a transport.
--
-- A sent call may act: its intent is recorded first, and a call without an answer is repeated only where that is
-- allowed. Knows queue and replies, no kind. Called by run/call/kind/http, command, host, session and local.lua.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local places = require("skillrt.run.places")
local record = require("skillrt.base.record")
local reply_of = require("skillrt.run.call.reply")
local sandbox = require("skillrt.skill.sandbox")
local secrets = require("skillrt.base.secrets")
local soft_deadline = require("skillrt.run.call.soft_deadline")
local steady = require("skillrt.run.steady")
local views = require("skillrt.run.views")

local M = {}

-- Whether it is the first of its branch after a truncation of the journal, and may act. A branch that was started by
-- a later call is a new one.
local function is_lost_maybe(call)
  local cut, prefix = call.step.cut, call.branch.prefix
  if not cut or call.idem or call.request.pure or cut[prefix] then
    return false
  end
  local above, position = places.above(prefix)
  while above do
    local first = cut[above]
    if math.type(first) == "integer" and first < position then
      return false
    end
    above, position = places.above(above)
  end
  return true
end

---Sends it, once its limits have room and its agent's gate is open.
---@param calls skillrt.Calls
---@param call skillrt.Call
function M.begin(calls, call)
  if is_lost_maybe(call) then
    calls:emit(call, { t = "call", kind = call.kind, to = record.printable(call.to), digest = call.digest,
      key = calls:key_of(call) })
    call.interrupted = true
    reply_of.doubt(calls, call, "the journal was truncated, so the call may have been sent already")
  else
    calls.queue:send(call)
  end
end

---It was sent before the run stopped.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param open table  of the books
function M.take_up(calls, call, open)
  call.attempt = open.a or 1
  if open.decision then
    call:become("unknown")
    reply_of.decide(calls, call, open.decision)
  elseif open.failed then -- its attempt had finished, the next one waits
    call.attempt = call.attempt + 1
    local at = steady.at(calls.run, open.failed.at + open.failed.retry, open.failed.retry) -- clocks may be set back
    calls.queue:pace(call, at)
    if call.request.gate and open.failed.class == "rate_limit" then
      calls.queue:close(call.request.gate, at, open.failed.message)
    end
  elseif call.idem and open.idem then -- a changed script may ask for something else there
    calls.queue:send(call)
  else
    local message = open.doubt and open.doubt.message
    call.interrupted = true
    reply_of.doubt(calls, call, message or "the run was interrupted before a reply", open.doubt ~= nil)
  end
end

---The wait before an attempt, or at its agent's gate, is over.
---@param calls skillrt.Calls
---@param call skillrt.Call
function M.rang(calls, call)
  local gate, queue = call.request.gate, calls.queue
  if gate and queue.is_too_long(call, gate:left(core.mono_ms())) then
    local message = gate:why() or "its rate limit is reached"
    calls:settle(call, { unsent = true, failed = { class = "rate_limit", message = message } })
  else
    queue:send(call)
  end
end

-- The text that is sent to an agent, for people: a run does not need it.
local function keep_prompt(run, call)
  local text = call.request.prompt
  if text and run.skill.context ~= "memory" then
    run.store:keep(views.prompt(call.step.number, call.place), secrets.clean(text))
  end
end

---The task of a call that is sent now, and the record of its intent.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@return table task
function M.send(calls, call)
  local request, run = call.request, calls.run
  local task = setmetatable({ unwatched = run.unwatched, awaits = request.id ~= nil }, { __index = request })
  local entry = {
    t = "call",
    a = call.attempt > 1 and call.attempt or nil,
    kind = call.kind,
    to = record.printable(call.to),
    key = calls:key_of(call),
    digest = call.digest,
    idem = call.idem or nil,
    pure = request.pure,
    label = request.label and record.printable(request.label),
    model = request.label and request.model and record.printable(request.model),
    converses = request.label and request.converses,
    phase = request.phase and record.printable(request.phase),
  }
  calls.has_agents = calls.has_agents or entry.label ~= nil
  call.ways.fill(calls, call, task, entry)
  calls:emit(call, entry)
  if not calls.watching then
    soft_deadline.watch(calls, call.step)
  end
  keep_prompt(run, call)
  return task
end

---A program runs where the run was started, wherever it is resumed, and in its jail.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param task table
---@param entry table|nil  the record
function M.set_folder(calls, call, task, entry)
  local run, request, is_lifted = calls.run, call.request, nil
  request.jail = nil
  if request.argv and not call.world then
    request.jail, is_lifted = sandbox.words(request, run, core.jail)
  end
  if request.argv and (run.elsewhere or request.jail) then
    task.cwd = files.join(run.cwd, request.cwd or ".")
  end
  if request.jail then
    task.argv, task.jail = sandbox.argv(request), sandbox.filled(request.jail)
  end
  if entry and (request.jail or is_lifted) then
    entry.sandbox = is_lifted and sandbox.LIFTED or sandbox.recorded(request.jail)
  end
end

---@type fun(calls: skillrt.Calls, call: skillrt.Call, reply: table)
M.replied = reply_of.take

---The step gave it up. A sent call that may act runs to its own end.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param open table|nil  of the books
---@return boolean gone
function M.give_up(calls, call, open)
  local state = call.state
  if state == "due" then
    calls.queue:withdraw(call)
    return true
  elseif state == "sent" and call.number and call.idem then
    calls.queue:cancel(call)
    return false
  elseif state == "sent" and call.number or state == "canceling" or state == "unknown" then
    return false
  end
  return not open or call.idem or open.failed ~= nil -- otherwise it was sent before a crash: a person decides
end

return M
