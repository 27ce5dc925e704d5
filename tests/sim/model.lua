-- model.lua: what a run may do, written by itself as plain rules over its records: read it as the specification.
--
-- It knows nothing of lua/skillrt. `check` walks the records of a journal in their order, keeps of each step and
-- call the state that they are in, and says where a record is not allowed from there; then it holds
-- what was recorded against what the witness saw being sent.
--
--   step   none -> open -> done | failed | skipped           `open`: its first record (start, or a done alone)
--   call   none -> sent -> finished                          a wait (sleep, question, event) goes the same way
--          sent -> unknown -> sent | finished                a question about it; a person decides
--          sent -> due -> sent                               an attempt failed, the next one comes later

local M = {}

local WAITS <const> = { sleep = true, ask = true, wait = true }

-- What each record needs and makes; `run` is the model's own: steps by number, each with its calls by place.
local RULES = {}

local function step_of(run, entry, complain)
  local step = run.steps[entry.step]
  if not step then
    step = { state = "none", calls = {} }
    run.steps[entry.step] = step
  end
  if step.state == "failed" and entry.t == "start" then -- it is resumed, with all its results but those it may repeat
    for _, place in ipairs(entry.from or {}) do
      local call = step.calls[place]
      if call then
        call.state = "due"
      end
    end
    step.state = "none"
  elseif step.state == "done" or step.state == "failed" or step.state == "skipped" then
    complain(entry, ("step %d is %s already"):format(entry.step, step.state))
  end
  return step
end

local function call_of(step, entry)
  local call = step.calls[entry.c]
  if not call then
    call = { state = "none" }
    step.calls[entry.c] = call
  end
  return call
end

function RULES.start(run, entry, complain)
  local step = step_of(run, entry, complain)
  if step.state ~= "none" then
    complain(entry, "this step has begun already")
  end
  step.state, step.name = "open", entry.action or entry.phase
end

function RULES.call(run, entry, complain)
  local step = step_of(run, entry, complain)
  local call = call_of(step, entry)
  if call.state == "finished" then
    complain(entry, "its result is recorded: nothing may be sent for it again")
  elseif call.state == "sent" and call.acts and not entry.idem then
    complain(entry, "it may have acted, is not idempotent, and nobody decided")
  end
  call.state, call.kind, call.idem, call.label = "sent", entry.kind, entry.idem, entry.label
  call.acts = entry.kind == "http" or entry.kind == "command" or entry.kind == "session"
end

function RULES.attempt(run, entry, complain)
  local call = call_of(step_of(run, entry, complain), entry)
  if call.state ~= "sent" then
    complain(entry, "no attempt of it was under way, it is " .. call.state)
  end
  call.state = "due"
end

function RULES.result(run, entry, complain)
  local call = call_of(step_of(run, entry, complain), entry)
  if call.state == "finished" then
    complain(entry, "it has a result already")
  end
  local is_given_up = (call.idem or not call.acts) and entry.failed and entry.failed.class == "canceled"
  call.state = is_given_up and "due" or "finished" -- nobody waited for it: a step that is resumed may
end

function RULES.doubt(run, entry, complain)
  local call = call_of(step_of(run, entry, complain), entry)
  if call.state ~= "sent" then
    complain(entry, "its outcome cannot be unknown, it is " .. call.state)
  end
  call.state = "unknown"
end

function RULES.answer(run, entry, complain)
  if not entry.c then
    return
  end
  for _, one in ipairs { entry, table.unpack(entry.also or {}) } do -- one answer for all calls of an interruption
    local call = call_of(step_of(run, one, complain), one)
    call.state = entry.value == "retry" and "due" or call.state
  end
end

function RULES.fail(run, entry, complain)
  local step = step_of(run, entry, complain)
  if entry.retry then -- another attempt: the call that it blames may be asked again
    local blamed = entry.blame and step.calls[entry.blame]
    if blamed then
      blamed.state = "due"
    end
  else
    step.state = "failed"
  end
end

-- The branch that a place lies in, and its position there.
local function position_of(place)
  local branch, position = tostring(place):match "^(.-)(%d+)$"
  return branch, tonumber(position)
end

-- Results from these places on are forgotten: of calls that may be sent again.
function RULES.drop(run, entry, complain)
  local step = step_of(run, entry, complain)
  for _, from in ipairs(entry.from or {}) do
    local branch, first = position_of(from)
    for place, call in pairs(step.calls) do
      local rest = first and tostring(place):sub(1, #branch) == branch and tostring(place):sub(#branch + 1):match "^%d+"
      if rest and tonumber(rest) >= first then
        if call.acts and not call.idem then
          complain(entry, ("call %s may have acted, and is forgotten"):format(place))
        end
        step.calls[place] = nil
      end
    end
  end
end

function RULES.done(run, entry, complain)
  local step = step_of(run, entry, complain)
  for place, call in pairs(step.calls) do
    if call.state == "sent" and not WAITS[call.kind] and call.kind ~= "run" and not call.idem then
      complain(entry, ("it ends while call %s is under way"):format(place))
    end
  end
  step.state = "done"
end

function RULES.skip(run, entry, complain)
  if entry.step then
    step_of(run, entry, complain).state = "skipped"
  end
end

-- What was sent stands in the journal: the intent is durable before a call is sent.
local function sent_is_recorded(list, sent, wrong)
  local recorded = {}
  for _, entry in ipairs(list) do
    if entry.t == "call" and (entry.label or entry.to) then
      recorded[entry.label or entry.to] = true
    end
  end
  for _, one in ipairs(sent) do
    if not recorded[one.label] then
      wrong(("%s was sent, and the journal does not know of it"):format(one.label))
    end
  end
end

---@param list table[]  the records of a journal, in their order
---@param sent table[]  what the witness saw: { label, key, acted, episode }
---@param skill skillrt.Skill
---@param wrong fun(message: string)
function M.check(list, sent, skill, wrong)
  local run, last_at = { steps = {} }, 0
  local function complain(entry, why)
    wrong(("record %s of step %s, call %s: %s"):format(entry.t, entry.step, entry.c, why))
  end
  for _, entry in ipairs(list) do
    local rule = RULES[entry.t]
    if rule and entry.step then
      rule(run, entry, complain)
    end
  end
  sent_is_recorded(list, sent, wrong)
  return run, last_at, skill
end

return M
