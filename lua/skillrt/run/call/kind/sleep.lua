-- run/call/kind/sleep.lua: a wait for a time. Found by its name.

local alarm = require("skillrt.run.call.alarm")
local core = require("skillrt.core")
local reply_of = require("skillrt.run.call.reply")
local steady = require("skillrt.run.steady")

local function begin(calls, call)
  local request = call.request
  local at = request.until_ or alarm.ends_at(request.seconds)
  local open = alarm.ask(calls, call, {}, at)
  call.began = steady.at(calls.run, open.at)
  if request.until_ then
    call.instant = math.min(at, open.due)
    calls.due:put(steady.look(call.instant), call)
  else
    alarm.set(calls, call, open, request.seconds)
  end
end

---@type skillrt.CallKind
return {
  asks = true,
  begin = begin,
  take_up = begin,
  rang = function(calls, call)
    if call.instant and call.instant > core.wall_ms() then -- the wall clock was set
      return calls.due:put(steady.look(call.instant), call)
    end
    calls:settle(call, { reply = { status = "ok", elapsed_ms = core.mono_ms() - call.began } })
  end,
  value = function(call, entry)
    return reply_of.copy(call, entry.reply)
  end,
  give_up = alarm.give_up,
}
