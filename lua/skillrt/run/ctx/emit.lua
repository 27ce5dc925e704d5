-- run/ctx/emit.lua: an event that a step sends to another run (ctx.emit), as a call whose result is recorded.
--
-- The event's id is the key of the call, so that it is taken once, however often it is sent. Called by run/ctx.lua.

local core = require("skillrt.core")
local json = require("skillrt.base.json")
local look = require("skillrt.run.look")
local names = require("skillrt.base.names")
local store_of = require("skillrt.run.store")

local M = {}

-- Puts the event into the inbox of a run next to this one.
local function send(run, name, event)
  local store = store_of.at(store_of.sibling(run.store.place, name))
  local books, message, code = look.books(store.place)
  if not books then
    return nil, message, code == "system" and "transient" or "permanent"
  elseif look.has_ended(books) then
    return nil, ("%s: the run is %s and accepts no more events"):format(store.place, books.status), "permanent"
  end
  local sent, why = store:put(event)
  return sent and true, why, "transient"
end

---The call that sends an event; or nil and what is wrong with it.
---@param calls skillrt.Calls
---@param name string   of the run
---@param event string
---@param value any     nil: true
---@return table|nil request  of run/call/kind/local.lua
---@return string? message
function M.request(calls, name, event, value)
  local problem = not names.is_label(name)
    and ("needs the name of a run beside this one, not %s"):format(names.show(name)) or names.problem_of_event(event)
  if problem then
    return nil, problem
  end
  local own = { kind = "local", name = "emit", expect = "raw", idempotent = true,
    shown = ("emit %s to %s"):format(event, name),
    declared = { url = "emit " .. event .. " " .. name, body = json.encode(value) } }
  function own.run()
    local call, run = own.call, calls.run
    if run.world then
      return true
    end
    return send(run, name, { event = event, value = value,
      id = core.sha256(calls:beginning_of_key(call.step, call.place)):sub(1, 32) })
  end
  return own
end

return M
