-- test/replay/divergence.lua: what is said of a call that is another one than the recorded: what differs, and which
-- recorded call is nearest.
--
-- Knows recordings and calls; decides nothing. Part of test/replay/world.lua.

local request = require("skillrt.test.replay.request")
local views = require("skillrt.run.views")

local M = {}

local LONGEST <const> = 1 << 24 -- bytes of a prompt

-- What differs, in words: the journal keeps digests of what was sent, and beside it the words to agents.
local function difference(world, recorded, known, call)
  local to = recorded.to or recorded.kind
  if recorded.kind ~= call.kind then
    return ("its kind: %s -> %s"):format(recorded.kind, call.kind)
  elseif recorded.question and call.request.question then
    return "the question: " .. (request.line(request.shown(recorded.question), request.shown(call.request.question))
      or "not in its words")
  elseif recorded.to and to ~= call.to then
    return ("where it goes: %s -> %s"):format(to, call.to)
  end
  local was = call.request.prompt and world.store:kept(views.prompt(known.number, recorded.c), LONGEST)
  local line = was and request.line(world:placeless(was), world:placeless(call.request.prompt))
  return line and "its prompt, " .. line
    or call.kind == "http" and "its method, headers or body" or "its arguments, input, environment or folder"
end

-- The recorded call that is most like one: the same one elsewhere, else one to the same address in its step.
local function nearest(world, known, call)
  for _, step in ipairs(world.recording.steps) do
    for _, one in ipairs(step.calls) do
      if one.digest == call.digest then
        return one, step, true
      end
    end
  end
  for _, one in ipairs(known.calls) do
    if (one.to or one.kind) == call.to and one.kind == call.kind then
      return one, known
    end
  end
end

---@param world skillrt.replay.World
---@param known skillrt.recording.Step
---@param recorded table|nil  the record of the call at its place
---@param call skillrt.Call
---@return table
function M.of(world, known, recorded, call)
  local near, where, equal = nearest(world, known, call)
  if recorded and not equal then
    near, where = recorded, known
  end
  local why = equal and "the very call is recorded elsewhere: it is made in another order, or another place"
    or near and difference(world, near, where, call) or "the recording has no call like it"
  return {
    step = known.number,
    id = known.id,
    call = call.place,
    recorded = recorded and ("%s %s"):format(recorded.kind, recorded.to or "") or "no call at this place",
    now = ("%s %s"):format(call.kind, call.to),
    why = why,
    nearest = near and ("step %d (%s), call %s"):format(where.number, where.id, near.c),
    near = near and not equal and { step = where.number, c = near.c } or nil,
    same_elsewhere = equal,
    request = call.request,
  }
end

return M
