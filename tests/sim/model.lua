-- model.lua: the rules for a run, as plain checks on the records of its journal: read it as the specification.
--
-- It knows nothing of lua/skillrt. `check` walks the records in order: first every rule about a record of this type
-- is checked, with the run as it was before the record; then the record changes the run. After the last record the
-- journal is compared with the witness, which saw from outside what was sent. Called by sim.lua, in the audit after a
-- run.

local M = {}

-- ---- the run ----

-- Kinds of calls that leave the run: they may change the world, and limits count them.
local ACTS <const> = { http = true, command = true, session = true, host = true, ["local"] = true }

-- Which records may follow a call's state, and the state that each leads to.
local CALL <const> = {
  none = { call = "sent", result = "finished", tool = "used", doubt = "unknown" }, -- after a truncation of the journal
  sent = { call = "sent", attempt = "paced", doubt = "unknown", result = "finished" },
  asked = { result = "finished" }, -- a person, a time, an event or a sub-run
  used = { tool = "used", result = "finished" }, -- a tool
  paced = { call = "sent", result = "finished" }, -- until its next attempt
  unknown = { answer = "allowed", result = "finished" }, -- it is unknown whether it was executed
  allowed = { call = "sent", result = "finished", tool = "used" }, -- may be repeated
  finished = {},
}

-- Which records may follow a step's state, and the state that each leads to. A failed step is resumed by its number.
local STEP <const> = {
  none = { start = "open" },
  open = { done = "done", fail = "failed", skip = "skipped" },
  failed = { start = "open" },
  skipped = { start = "open" },
  done = { start = "open" }, -- where its results are kept (`resumable`)
}

-- Failures that may be temporary.
local PASSING <const> = { transient = true, rate_limit = true, timeout = true, invalid_output = true }

-- Milliseconds by which two readings of a clock may differ; more where a clock was set by less than is recorded.
local TICK_MS <const> = 5
local tick_ms = TICK_MS
-- ... and by which the end of an exchange is noticed late, as other things happen.
local LATE_MS <const> = 200
-- The longest sync: a program of a session is told to stop only once it is recorded that its answer is late.
local SYNC_MS <const> = 2000
local MAX_PARALLEL <const>, MAX_RETRIES <const>, MAX_ERRORS <const> = 4, 3, 3

---@class sim.Scope  the run, or a sub-run
---@field sub string          "" of the run itself
---@field limits table        of its skill
---@field spent table         by name of a limit: "calls", "usage.tokens"
---@field spent_by table      the same by action
---@field errors integer      failed steps that count
---@field open integer        steps that are open
---@field over table          by id: "done", "failed", "skipped": how an action or phase ended
---@field runs table          by id: how often it completed
---@field counted table       by id: its failure counts as an error until it is retried
---@field barred table        by id: the place of a call because of which the loop may not choose it again
---@field decided table       by id: somebody said `skip` or `fail` about a call
---@field alike table         by id: { sign, n }: how often in a row it failed in the same way
---@field undo table[]        steps that can be undone, the newest last

local function new_scope(sub, limits)
  return { sub = sub, limits = limits, spent = {}, spent_by = {}, errors = 0, open = 0, over = {}, runs = {},
    barred = {}, decided = {}, alike = {}, undo = {}, state = {}, counted = {}, free = {} }
end

-- What a skill says about its limits, by the names that `--add` takes: "calls", "a1.calls", "usage.tokens".
local function limits_of(skill)
  local limits = {}
  local function add(prefix, list)
    for name, most in pairs(list or {}) do
      for what, amount in pairs(type(most) == "table" and most or {}) do
        limits[prefix .. name .. "." .. what] = amount
      end
      limits[prefix .. name] = type(most) == "number" and most or nil
    end
  end
  add("", skill.limits)
  for _, one in ipairs(skill.actions or {}) do
    add(one.id .. ".", one.limits)
  end
  return limits
end

-- The same of a sub-run's skill, which the generator writes into its version: "calls=5 a1.calls=2".
local function limits_in(version)
  local limits = {}
  for name, most in version:gmatch "([%w.]+)=(%d+)" do
    limits[name] = tonumber(most)
  end
  return limits
end

-- Whether the limits of a sub-run are not known: its script was changed, and a resume takes it up with those of the new
-- one.
local function has_other_limits(run, scope)
  return scope.sub ~= "" and run.skill.is_changed and scope.process < run.process
end

-- The amount of a limit, including what was added; nil: there is none, or it is not known.
local function most_of(run, scope, name)
  local full = scope.sub == "" and name or ("sub/%s/%s"):format(scope.sub, name)
  local most = not has_other_limits(run, scope) and scope.limits[name] or nil
  return most and most + (run.added[full] or 0), full
end

local function call_at(step, place)
  local call = step.calls[place]
  if not call then
    call = { state = "none", place = place, step = step }
    step.calls[place] = call
  end
  return call
end

-- The branch that contains a place, and its position there.
local function position_of(place)
  local branch, position = tostring(place):match "^(.-)(%d+)$"
  return branch, tonumber(position)
end

local function is_below(place, above)
  return place == above or place:sub(1, #above + 1) == above .. "."
end

-- A call that may have changed the world, so that repeating it may do it twice.
local function may_have_acted(call)
  return call.acts and not call.idem and not call.unsent
end

-- The first place at or below the given one where something may have acted, and is not allowed to act again; for a
-- sub-run's call everything that it called counts.
local function acted_below(run, step, above)
  for place, call in pairs(step.calls) do
    if not above or is_below(place, above) then
      if may_have_acted(call) and call.state ~= "none" and call.state ~= "allowed" then
        return place
      end
      local scope = call.sub and run.scopes[call.sub]
      for _, inner in pairs(scope and run.steps or {}) do
        if inner.scope == scope and acted_below(run, inner) then
          return place
        end
      end
    end
  end
  return step.forgotten_acted and (not above or is_below(step.forgotten_acted, above)) and step.forgotten_acted or nil
end

-- A call's usage counts for its action, its scope, and all above.
local function spend(step, name, amount)
  while step do
    local scope, by = step.scope, step.scope.spent_by
    scope.spent[name] = (scope.spent[name] or 0) + amount
    by[step.id] = by[step.id] or {}
    by[step.id][name] = (by[step.id][name] or 0) + amount
    step = scope.parent
  end
end

-- Whether a call may have been in the truncated end of a journal: its outcome is unknown at once.
local function is_lost(entry, it)
  return it.following and it.following.t == "doubt" and it.following.c == entry.c
end

-- Each limit in which a call of this step needs room: its scope, its name, how much is used.
local function each_limit(step, name)
  local list = {}
  while step do
    local scope = step.scope
    local by = scope.spent_by[step.id] or {}
    list[#list + 1] = { scope = scope, name = name, spent = scope.spent[name] or 0 }
    list[#list + 1] = { scope = scope, name = step.id .. "." .. name, spent = by[name] or 0 }
    step = scope.parent
  end
  return list
end

-- How long the run has been open at this moment, without pauses and without changes of the clock.
local function open_ms(run, at)
  return run.active + at - run.moved - run.opened_at
end

-- In failures of the same kind, numbers are ignored.
local function sign_of(entry)
  return (("%s: %s"):format(entry.class, entry.message):gsub("%d+", "#"):sub(1, 200))
end

-- ---- the rules ----

local RULES = {}

-- A rule about records of these types: fn(run, entry, it) returns what is wrong; `it`: the scope, step and call that
-- the record is about.
local function rule(types, fn)
  for type in types:gmatch "%a+" do
    RULES[type] = RULES[type] or {}
    table.insert(RULES[type], fn)
  end
end

-- Nothing is recorded between the end of a run and its resume.
rule("start call attempt result doubt done fail skip undoable rounds round abort loop checkpoint note event",
  function(run)
    if run.stopped then
      return "the run has stopped"
    end
  end)

-- A step passes through its states: none, open, then done, failed or skipped.
rule("start done fail skip", function(_, entry, it)
  local step = it.step
  if not step or entry.retry or entry.over == "script" then
    return step and step.state ~= "open" and "its step is " .. step.state or nil
  elseif not STEP[step.state][entry.t] then
    return "its step is " .. step.state
  end
end)

-- A step that does not resume an earlier one has a number of its own.
rule("start", function(_, entry, it)
  if not entry.from and it.step.state ~= "none" then
    return "its number is that of another step"
  end
end)

-- What belongs to a step is recorded while the step is open.
rule("call attempt result doubt tool round used note stage late checkpoint", function(_, _, it)
  if it.step and it.step.state ~= "open" then
    return "its step is " .. it.step.state
  end
end)

-- A call passes through its states, by the table above; a result is final, whatever asks for the call again.
-- A changed script may use a tool where an earlier one had sent what may be sent again.
rule("call attempt result doubt tool", function(run, entry, it)
  local is_other = entry.t == "tool" and run.skill.is_changed and it.call.state == "sent" and it.call.idem
  if not CALL[it.call.state][entry.t] and not is_other then
    return "its call is " .. it.call.state
  end
end)

-- A call that was sent and may have acted is not repeated before somebody decided, unless it is idempotent.
rule("call", function(_, entry, it)
  if it.call.state == "sent" and it.call.acts and not entry.idem then
    return "it may have acted, is not idempotent, and nobody decided"
  end
end)

-- Only another process continues what was sent before a crash: in the one that sent it, an attempt ends first.
rule("call", function(run, _, it)
  if it.call.state == "sent" and it.call.process == run.process then
    return "it is under way"
  end
end)

-- A call that may have been in the truncated end of a journal is not sent before somebody decided: the first call of
-- each branch.
rule("call", function(_, entry, it)
  local step = it.step
  if not step.cut or it.call.state ~= "none" or not ACTS[entry.kind] or entry.pure or entry.idem
    or is_lost(entry, it) then
    return nil
  end
  for branch, position in pairs(step.cut) do
    local rest = entry.c:sub(1, #branch) == branch and entry.c:sub(#branch + 1):match "^%d+"
    if rest and (tonumber(rest) > position or #branch + #rest == #entry.c) then
      return nil -- it comes after one that was made since
    end
  end
  return "the end of the journal was cut off, so it may have been sent already"
end)

-- The outcome of a call is unknown only where it acts and is not idempotent.
rule("doubt", function(run, _, it)
  if it.call.state == "none" then
    return not run.doubtful and "it was not sent" or nil
  elseif not it.call.acts or it.call.idem then
    return "it may be sent again without a question"
  end
end)

-- An answer decides about calls whose outcome is unknown.
rule("answer", function(run, entry)
  for _, one in ipairs(entry.c and { entry, table.unpack(entry.also or {}) } or {}) do
    local step = run.steps[one.step]
    local state = step and call_at(step, one.c).state
    if state ~= "unknown" then
      return ("call %s of step %s is %s"):format(one.c, one.step, state)
    end
  end
end)

-- The result of a call follows the decision about it.
rule("result", function(_, entry, it)
  if it.call.decision and entry.decided ~= it.call.decision then
    return ("%s was decided about it, and it says %s"):format(it.call.decision, entry.decided or "nothing")
  end
end)

-- A call has the same key in all its attempts, made of the run, its step and its place.
rule("call", function(run, entry, it)
  local before = it.call.key
  local plain = entry.key and ("%s-%d-%s-"):format(run.name, entry.step, entry.c)
  if entry.key and entry.key:sub(1, #plain) ~= plain then
    return "its key is " .. entry.key
  elseif before and entry.key ~= before and it.call.state ~= "allowed" then
    return ("its key is %s, and was %s"):format(entry.key, before)
  end
end)

-- A further attempt of a call begins when it is due, and not earlier.
rule("call", function(run, entry, it)
  local call = it.call
  if call.state == "paced" and run.process == call.process and entry.at - run.moved < call.due_at - tick_ms then
    return "its next attempt is not due yet"
  end
end)

-- A further attempt of a step begins when it is due, and not earlier.
rule("call result done fail", function(run, entry, it)
  local step = it.step
  if step and step.due_at and step.due_process == run.process and entry.at - run.moved < step.due_at - tick_ms then
    return "its next attempt is not due yet"
  end
end)

-- How often a failed attempt is followed by another one; nil: the version of a sub-run's skill does not say.
local function most_retries(run, it)
  local action = run.actions[it.id]
  return it.scope.sub == "" and (action and action.max_retries or run.skill.limits.max_retries or MAX_RETRIES) or nil
end

-- A step or a call is retried as often as its limit says.
rule("fail", function(run, entry, it)
  if entry.retry and it.step.retries >= (most_retries(run, it) or math.huge) then
    return "max_retries is used up"
  end
end)

-- The place of a sub-run that was given up after something in it may have acted: a further attempt starts it again.
local function given_up_acted(run, step)
  for place, call in pairs(step.calls) do
    if call.sub and call.state == "allowed" and acted_below(run, step, place) then
      return place
    end
  end
  return step.given_up -- before a rollback
end

-- A failure that may be temporary is retried, unless max_retries is reached, or what it blames may have acted or has
-- attempts of its own, or what would start again has acted.
rule("fail", function(run, entry, it)
  local step, most = it.step, most_retries(run, it)
  local blamed = entry.blame and step.calls[entry.blame]
  local may = PASSING[entry.class] and not entry.traceback and most and step.retries < most
  if may and not entry.retry and not entry.circuit and not (blamed and blamed.own)
    and not (entry.blame and acted_below(run, step, entry.blame)) and not given_up_acted(run, step) then
    return "it may pass, and is not tried again"
  end
end)

-- If a failed attempt is followed by another one, the call that it blames is harmless, and so is what starts again.
rule("fail", function(run, entry, it)
  local place = entry.retry and entry.blame
    and (acted_below(run, it.step, entry.blame) or given_up_acted(run, it.step))
  if place then
    return ("call %s may have acted"):format(place)
  end
end)

-- If the loop resumes a failed step, its calls that may have acted keep their results, unless its author allows
-- repeating them.
rule("start", function(run, entry, it)
  if it.scope.retrying == it.id and not it.scope.harmless
    or it.scope.sub == "" and (run.actions[it.id] or {}).repeatable then
    return nil
  end
  for _, place in ipairs(entry.from or {}) do
    if acted_below(run, it.step, place) then
      return ("call %s may have acted, and its result is forgotten"):format(place)
    end
  end
end)

-- The loop does not choose a failed action again if one of its calls may have acted: a person may, or its author.
rule("start", function(run, _, it)
  local scope = it.scope
  if scope.barred[it.id] and scope.retrying ~= it.id and not (run.actions[it.id] or {}).repeatable then
    return ("it failed, and its call %s may have acted"):format(scope.barred[it.id])
  end
end)

-- What somebody decided about a call whose outcome is unknown holds for its action or phase in this run.
rule("start", function(_, entry, it)
  local scope = it.scope
  if not entry.undo and scope.decided[it.id] and scope.retrying ~= it.id then
    return ("%s was decided about it"):format(scope.decided[it.id])
  end
end)

-- The contexts of a run are loaded once, before its first step.
rule("contexts", function(_, _, it)
  if it.scope.knows or it.scope.begun then
    return "it was loaded, or a step has begun"
  end
end)

-- An action begins as long as it has not completed as often as it may.
rule("start", function(run, entry, it)
  local action = entry.action and it.scope.sub == "" and run.actions[it.id]
  if action and not entry.undo and (it.scope.runs[it.id] or 0) >= action.max_runs then
    return ("it has completed %d times"):format(it.scope.runs[it.id])
  end
end)

-- An action begins while its condition holds.
rule("start", function(run, entry, it)
  local action = entry.action and it.scope.sub == "" and run.actions[it.id]
  local needs = action and action.x and action.x.needs
  if needs and not entry.undo and (it.scope.state[needs] or 0) == 0 then
    return ("it needs %s"):format(needs)
  end
end)

-- No more steps are open at once than max_parallel allows.
rule("start", function(run, _, it)
  local most = it.scope.sub == "" and run.skill.limits.max_parallel or MAX_PARALLEL
  if it.scope.open >= most then
    return ("%d steps are open"):format(it.scope.open)
  end
end)

-- No call is sent that has no room in the limits of its action, its scope, and all above. One that may have been in
-- the truncated end of a journal is recorded in any case; it takes no room from others, which had theirs before.
rule("call", function(run, entry, it)
  if is_lost(entry, it) then
    return nil
  end
  local lost = each_limit(it.step, "lost")
  for i, one in ipairs(ACTS[entry.kind] and not entry.pure and each_limit(it.step, "calls") or {}) do
    local most, full = most_of(run, one.scope, one.name)
    if most and one.spent - lost[i].spent >= most then
      return ("%s: %d of %d are used up"):format(full, one.spent, most)
    end
  end
end)

-- Usage is reserved before calls are sent, so that no more is used than there is. (Behind a rollback a script may tell
-- again what it has told.)
rule("used", function(run, entry, it)
  for name, amount in pairs(entry.used) do
    for _, one in ipairs(each_limit(it.step, "usage." .. name)) do
      local most, full = most_of(run, one.scope, one.name)
      if most and one.spent + amount > most and not run.rolled then
        return ("%s: %d and %d of %d"):format(full, one.spent, amount, most)
      end
    end
  end
end)

-- Splits the name of a limit into its scope, its action and what is counted.
local function named(run, full)
  local sub, name = full:match "^sub/(.-)/(.+)$"
  local scope = run.scopes[sub or ""]
  name = name or full
  for _, known in ipairs { "calls", "usage.tokens", "max_errors", "same_failures", "run_timeout", "step_timeout",
    "max_iterations" } do
    if name == known then
      return scope, nil, known
    elseif name:sub(-#known - 1) == "." .. known then
      return scope, name:sub(1, -#known - 2), known
    end
  end
end

-- How much of a counter one call may use at most, as the generator's calls announce.
local MOST_ASKED <const> = { calls = 1, ["usage.tokens"] = 3 }

-- A run ends at a limit of calls or usage when the next call has no room, and not before.
rule("stop", function(run, entry)
  local scope, id, what = named(run, entry.limit or "")
  local asked = MOST_ASKED[what]
  local is_one = asked and (entry.reason == "call_limit" or entry.reason == "usage_limit")
  if scope and is_one and not has_other_limits(run, scope) then
    local spent = (id and (scope.spent_by[id] or {}) or scope.spent)[what] or 0
    local most = most_of(run, scope, id and id .. "." .. what or what)
    if not most or spent + asked <= most then
      return ("%s: only %d of %s are used up"):format(entry.limit, spent, most)
    end
  end
end)

-- A run ends at its time limit, and not before; nothing is sent or started after it. (A step that has started may
-- record what it waits for.)
rule("start call stop", function(run, entry)
  local most = most_of(run, run.scopes[""], "run_timeout")
  local is_end = entry.t == "stop" and entry.reason == "run_timeout"
  local spent = most and open_ms(run, entry.at) - most * 1000 or 0
  if is_end and spent < -tick_ms then
    return ("run_timeout is over in %d ms"):format(-spent)
  elseif most and spent > tick_ms and (entry.t == "start" or ACTS[entry.kind]) then
    return ("run_timeout is over since %d ms"):format(spent)
  end
end)

-- A run fails with too many errors when that many have occurred, or when an action failed whose `on_error` says so.
rule("stop", function(run, entry, it)
  local scope = it.scope
  local most = has_other_limits(run, scope) and 0 or most_of(run, scope, "max_errors") or MAX_ERRORS
  if entry.reason == "error_limit" and scope.errors < most and not scope.fatal then
    return ("only %d steps have failed of %d"):format(scope.errors, most)
  end
end)

-- Nothing is chosen when that many steps have failed. (Parallel phases are chosen at once.)
rule("start", function(run, entry, it)
  local at = entry.phase and it.scope.sub == "" and run.phase_at[entry.phase]
  local before = at and run.skill.phases[at - 1]
  if before and before.parallel and run.skill.phases[at].parallel then
    return nil
  end
  local most = has_other_limits(run, it.scope) and math.huge or most_of(run, it.scope, "max_errors") or MAX_ERRORS
  if it.scope.errors >= most and not entry.undo and it.scope.retrying ~= it.id and it.scope.open == 0
    and not it.scope.loop_over then
    return ("%d steps have failed"):format(it.scope.errors)
  end
end)

-- An action that repeatedly fails in the same way pauses the run exactly when it has done so often enough.
rule("fail", function(run, entry, it)
  local most = it.scope.sub == "" and most_of(run, it.scope, "same_failures")
  local known = it.scope.alike[it.id]
  local n = (known and known.sign == sign_of(entry) and known.n or 0) + 1
  if most and n >= most and not entry.circuit and not entry.traceback then
    return ("it failed %d times in the same way"):format(n)
  elseif entry.circuit and (not most or n < most) then
    return ("it failed only %d times in the same way"):format(n)
  end
end)

-- A sleep, and the time-out of a question or of an event, ends when its time has come, and not earlier. It is
-- measured by a clock that nobody sets; another process uses the recorded time, and waits no longer than the whole.
rule("result", function(run, entry, it)
  local call = it.call
  local by_time = call.due and (call.kind == "sleep" and not entry.failed or entry.unanswered
    or entry.failed and entry.failed.class == "timeout")
  local is_here = call.process == run.process
  local passed = entry.at - run.moved - (is_here and call.at - call.moved or run.opened_at)
  local left = by_time and call.due - math.max(call.at, is_here and call.at or run.opened_at)
  if by_time and entry.at < call.due - tick_ms and passed < left - tick_ms then
    return ("it ends %d ms before its time"):format(call.due - entry.at)
  end
end)

-- A question is closed by one of its options, or by its default where nobody answered.
rule("result", function(_, entry, it)
  local question = it.call.state == "asked" and it.call.question -- otherwise something else is recorded there
  local options = question and question.options
  if not options or entry.value == nil or entry.unanswered then
    return nil
  end
  for _, one in ipairs(options) do
    if (type(one) == "table" and one.id or one) == entry.value then
      return nil
    end
  end
  return ("%s is none of its options"):format(entry.value)
end)

-- A question has a number that no other one has.
rule("call ask", function(run, entry)
  if entry.q and entry.q <= run.last_q then
    return ("question %d was asked before"):format(entry.q)
  end
end)

-- One question is asked about a call whose outcome is unknown, and none about another.
rule("ask", function(run, entry)
  for _, one in ipairs(entry.c and { entry, table.unpack(entry.also or {}) } or {}) do
    local call = call_at(run.steps[one.step], one.c)
    if call.state ~= "unknown" then
      return ("call %s is %s"):format(one.c, call.state)
    elseif call.q and run.questions[call.q] then
      return ("question %d is about call %s"):format(call.q, one.c)
    end
  end
end)

-- An answer is to a question that is open.
rule("answer result", function(run, entry)
  if entry.q and not run.questions[entry.q] then
    return ("question %d is not open"):format(entry.q)
  end
end)

-- An approval is of exactly what was shown.
rule("result", function(_, entry, it)
  local question = it.call.question
  if question and question.approval and entry.value == "approve" and entry.approval ~= question.approval then
    return "what is approved is not what was asked about"
  end
end)

-- What arrives is taken once, by its id.
rule("event answer result", function(run, entry)
  if entry.arrival and run.arrivals[entry.arrival] and not entry.took then
    return ("%s has arrived before"):format(entry.arrival)
  end
end)

-- A wait takes an event that came, the oldest one; of those that wait for it, the first. A changed script may not wait
-- any more where an earlier process did.
rule("result", function(run, entry, it)
  if not entry.took then
    return nil
  elseif #(run.events[entry.event] or {}) == 0 then
    return ("no event %s has come"):format(entry.event)
  end
  for w, call in pairs(run.waits) do
    local may_be_gone = run.skill.is_changed and call.process < run.process
    if call.event == entry.event and w < it.call.w and not may_be_gone then
      return ("wait %d was there before"):format(w)
    end
  end
end)

-- A step ends when no call of it is under way.
rule("done", function(_, _, it)
  for place, call in pairs(it.step.calls) do
    if call.state == "sent" and call.acts and not call.idem or call.state == "unknown" then
      return ("call %s is %s"):format(place, call.state)
    end
  end
end)

-- A loop proceeds round by round, and when it has finished there is no further one.
rule("round", function(_, entry, it)
  local before = it.step.rounds[entry.c]
  if before and before.last or entry.n ~= (before and before.n or 0) + 1 then
    return ("round %d follows round %s"):format(entry.n, before and before.n)
  end
end)

-- What a round began begins nothing when that round has finished: its branches have ended. (A changed script may have
-- something else at the place of a loop.)
rule("call", function(run, entry, it)
  for place, round in pairs(run.skill.is_changed and {} or it.step.rounds) do
    local number = is_below(entry.c, place) and tonumber(entry.c:match("^%.(%d+)%.", #place + 1))
    if number and (number <= round.n or round.last) then
      return ("round %d of %s has finished"):format(round.n, place)
    end
  end
end)

-- A round of a loop finishes when none of its calls is under way. A changed script may not ask any more for what an
-- earlier process sent.
rule("round", function(run, entry, it)
  for place, call in pairs(it.step.calls) do
    local may_be_gone = run.skill.is_changed and (call.process or 0) < run.process
    if is_below(place, entry.c) and (call.state == "sent" or call.state == "unknown") and not may_be_gone then
      return ("call %s is %s"):format(place, call.state)
    end
  end
end)

-- Phases run one after the other, parallel ones at once: none starts before all earlier ones have finished.
rule("start", function(run, entry, it)
  local at = entry.phase and it.scope.sub == "" and run.phase_at[entry.phase]
  local together = true
  for i = at and at - 1 or 0, 1, -1 do
    local before, after = run.skill.phases[i], run.skill.phases[i + 1]
    together = together and before.parallel and after.parallel
    if not together and not it.scope.over[before.id] then
      return ("phase %s is not over"):format(before.id)
    end
  end
end)

-- A phase runs once in a round: a finished one is not started again unless it failed.
rule("start", function(_, entry, it)
  local how = entry.phase and it.scope.over[entry.phase]
  if how == "done" or how == "skipped" then
    return ("phase %s is %s"):format(entry.phase, how)
  end
end)

-- A phase is skipped if its condition is false, or if somebody decided about its call in an earlier round; no other
-- one is.
rule("skip", function(run, entry, it)
  local at = entry.phase and it.scope.sub == "" and run.phase_at[entry.phase]
  if at and #(run.skill.phases[at].when or {}) == 0 and not it.scope.decided[entry.phase] then
    return ("phase %s has no condition"):format(entry.phase)
  end
end)

-- Phases repeat as often as max_rounds says.
rule("rounds", function(run, entry)
  for _, one in ipairs(run.skill.rounds or {}) do
    if entry.n > one.max_rounds then
      return ("round %d of %d"):format(entry.n, one.max_rounds)
    end
  end
end)

-- Phases do not repeat once their end condition is true, as the generator computes it.
rule("rounds", function(run, entry, it)
  for _, one in ipairs(run.skill.rounds or {}) do
    local name, least = one.over[1].text:match "^(%w+) >= (%d+)$"
    if not entry.over and (it.scope.state[name] or 0) >= tonumber(least) then
      return ("%s holds"):format(one.over[1].text)
    end
  end
end)

-- When a run is aborted, what it did is undone: the newest first, each once, and nothing else begins.
rule("start", function(_, entry, it)
  local newest = it.scope.undo[#it.scope.undo]
  if entry.undo and not it.scope.aborting then
    return "the run is not being aborted"
  elseif it.scope.aborting and not (newest and entry.undo == newest.step) then
    return ("step %s is to be undone next"):format(newest and newest.step)
  end
end)

-- A run is aborted when all that can be undone is undone.
rule("stop", function(_, entry, it)
  local newest = it.scope.undo[#it.scope.undo]
  if entry.status == "aborted" and newest then
    return ("step %d is not undone"):format(newest.step)
  end
end)

-- A run that has ended has no open step.
rule("stop", function(_, entry, it)
  if entry.status ~= "paused" and it.scope.open > 0 then
    return ("%d steps are open"):format(it.scope.open)
  end
end)

-- A run has completed when all its phases are over.
rule("stop", function(run, entry, it)
  for _, phase in ipairs(entry.status == "completed" and it.scope.sub == "" and run.skill.phases or {}) do
    if not it.scope.over[phase.id] then
      return ("phase %s is not over"):format(phase.id)
    end
  end
end)

-- A run has not completed while an action could start: it ran less often than it may, its needs are met, and it did
-- not fail. (A strategy that looks at the state may choose none.)
rule("stop", function(run, entry, it)
  local scope = it.scope
  local is_whole = entry.status == "completed" and scope.sub == "" and run.skill.mode ~= "machine"
    and run.strategy ~= "state_driven"
  for id, action in pairs(is_whole and run.actions or {}) do
    local needs, counts = action.x and action.x.needs, action.x and action.x.counts
    local count = math.max(scope.runs[id] or 0, scope.state[counts or ""] or 0)
    if count < action.max_runs and (not needs or (scope.state[needs] or 0) > 0) and scope.over[id] ~= "failed"
      and scope.over[id] ~= "skipped" and not scope.barred[id] and not scope.decided[id] then
      return ("%s could begin"):format(id)
    end
  end
end)

-- ---- what a record changes ----

local APPLY = {}

function APPLY.run(run, entry)
  local sub = entry.sub or ""
  local scope = new_scope(sub, sub == "" and limits_of(run.skill) or limits_in(entry.version))
  scope.parent, scope.process = entry.step and run.steps[entry.step], run.process
  run.scopes[sub] = scope
  if sub == "" then
    run.name, run.opened_at, run.strategy = entry.run, entry.at, (entry.choices or {}).strategy
  end
end

function APPLY.resume(run, entry)
  run.active = run.active + math.max(0, run.last_at - run.moved - run.opened_at)
  run.opened_at, run.moved, run.process, run.stopped = entry.at, 0, run.process + 1, nil
  run.doubtful = run.doubtful or entry.doubtful
  if entry.doubtful then -- steps that were open, or start before one has finished
    run.cut = {}
    for _, step in pairs(run.steps) do
      step.cut = step.state == "open" and {} or nil
    end
  end
  for name, amount in pairs(entry.add or {}) do
    run.added[name] = (run.added[name] or 0) + amount
  end
  for _, scope in pairs(run.scopes) do
    scope.alike = {}
  end
end

function APPLY.clock(run, entry)
  run.moved = run.moved + entry.moved
end

function APPLY.stop(run, entry, it)
  if it.scope.sub == "" then
    run.stopped = entry
  end
end

-- Whether a place comes later in the branch of another one: there a wait is asked for when its turn comes again.
local function is_behind(place, other)
  local branch, first = position_of(other)
  local rest = first and place:sub(1, #branch) == branch and place:sub(#branch + 1):match "^%d+"
  return rest and tonumber(rest) > first
end

-- What a further attempt asks for again: calls at this place or below it, and later waits.
local function ask_anew(step, from)
  for place, call in pairs(step.calls) do
    local is_later_wait = call.state == "asked" and not call.sub and is_behind(place, from)
    call.state = (is_below(place, from) or is_later_wait) and "allowed" or call.state
  end
  for place in pairs(step.rounds) do
    step.rounds[place] = not is_below(place, from) and step.rounds[place] or nil
  end
end

function APPLY.start(run, entry, it)
  local step, scope = it.step, it.scope
  step.state, step.id, step.scope, step.undoes = "open", it.id, scope, entry.undo
  step.retries, step.due_at, step.cut = 0, nil, run.cut and {}
  for _, from in ipairs(entry.from or {}) do
    ask_anew(step, from)
  end
  scope.open, scope.begun = scope.open + 1, true
  scope.over[it.id] = nil
  scope.retrying = scope.retrying ~= it.id and scope.retrying or nil
end

function APPLY.contexts(_, entry, it)
  it.scope.knows = entry.values
end

function APPLY.call(run, entry, it)
  local call = it.call
  call.state = ACTS[entry.kind] and "sent" or "asked"
  call.kind, call.idem, call.key, call.sub = entry.kind, entry.idem, entry.key, entry.sub
  call.at, call.acts, call.unsent = entry.at, ACTS[entry.kind] and not entry.pure, nil
  call.process, call.moved, call.due, call.question, call.event, call.w, call.q = run.process, run.moved, entry.due,
    entry.question, entry.event, entry.w, entry.q
  it.step.due_at = nil
  if it.step.cut then
    local branch, position = position_of(entry.c)
    it.step.cut[branch] = it.step.cut[branch] or position
  end
  if call.acts then
    spend(it.step, "calls", 1)
    spend(it.step, "lost", is_lost(entry, it) and 1 or 0)
  end
  if entry.q then
    run.questions[entry.q], run.last_q = call, entry.q
  elseif entry.w then
    run.waits[entry.w], call.process = call, run.process
  end
end

function APPLY.used(_, entry, it)
  for name, amount in pairs(entry.used) do
    spend(it.step, "usage." .. name, amount)
  end
end

function APPLY.attempt(run, entry, it)
  it.call.state, it.call.process, it.call.moved = "paced", run.process, run.moved
  it.call.due_at = entry.at - run.moved + entry.retry
end

function APPLY.doubt(_, _, it)
  it.call.state, it.call.q = "unknown", nil
end

function APPLY.ask(run, entry)
  run.last_q, run.questions[entry.q] = entry.q, entry
  for _, one in ipairs(entry.c and { entry, table.unpack(entry.also or {}) } or {}) do
    call_at(run.steps[one.step], one.c).q = entry.q
  end
end

function APPLY.answer(run, entry)
  run.questions[entry.q] = nil
  if entry.arrival then
    run.arrivals[entry.arrival] = true
  end
  for _, one in ipairs(entry.c and { entry, table.unpack(entry.also or {}) } or {}) do
    local call = call_at(run.steps[one.step], one.c)
    if entry.value == "retry" then
      call.state = "allowed"
    else
      call.decision = entry.value
    end
  end
end

function APPLY.event(run, entry)
  run.events[entry.name] = run.events[entry.name] or {}
  table.insert(run.events[entry.name], entry)
  if entry.arrival then
    run.arrivals[entry.arrival] = true
  end
end

-- Calls below a place are forgotten, as what they made is in its result, and so are the rounds there; what a changed
-- script left there stays open.
local function forget_below(step, above)
  for place in pairs(step.rounds) do
    step.rounds[place] = (place == above or not is_below(place, above)) and step.rounds[place] or nil
  end
  for place, call in pairs(step.calls) do
    local is_open = call.state == "sent" or call.state == "unknown"
    if place ~= above and is_below(place, above) and not is_open then
      step.forgotten_acted = may_have_acted(call) and place or step.forgotten_acted
      step.calls[place] = nil
    end
  end
end

function APPLY.result(run, entry, it)
  local call = it.call
  local is_given_up = (call.idem or not call.acts or entry.unsent) and entry.failed
    and entry.failed.class == "canceled"
  if call.state == "used" then
    forget_below(it.step, entry.c)
  end
  call.state = is_given_up and "allowed" or "finished" -- its branch was cancelled: a resumed step may wait for it again
  call.unsent, call.own, call.decision = entry.unsent, entry.own, nil
  if entry.q then
    run.questions[entry.q] = nil
  end
  if call.w then
    run.waits[call.w] = nil
  end
  if entry.took then
    table.remove(run.events[entry.event], 1)
  elseif entry.arrival then
    run.arrivals[entry.arrival] = true
  end
  it.scope.decided[it.step.id] = entry.decided or it.scope.decided[it.step.id]
end

function APPLY.tool(_, _, it)
  it.call.state = "used"
  it.call.acts, it.call.idem = nil, nil -- what it does are the calls below; a changed script may have had a call here
end

function APPLY.round(_, entry, it)
  it.step.rounds[entry.c] = entry
  forget_below(it.step, entry.c)
end

-- Results from these places on are discarded, as the script asks for something else. A call behind them that may have
-- acted, and has no result, stays: a person decides about it.
function APPLY.drop(_, entry, it)
  for _, from in ipairs(entry.from or {}) do
    for place, call in pairs(it.step.calls) do
      local stays = call.state ~= "finished" and may_have_acted(call)
      if is_below(place, from) or is_behind(place, from) and not stays then
        it.step.calls[place] = nil
      end
    end
  end
end

local function close(run, it, how)
  local scope, id = it.scope, it.step.id
  it.step.state = how
  run.cut = scope.sub ~= "" and run.cut or nil
  scope.open = scope.open - 1
  scope.over[id] = how
  for i = #scope.undo, 1, -1 do
    if scope.undo[i].step == it.step.undoes then
      table.remove(scope.undo, i)
      break -- what was done again after a rollback is undone again
    end
  end
  if how ~= "done" and not it.step.undoes and run.skill.mode ~= "machine" then
    scope.barred[id] = acted_below(run, it.step)
  end
end

function APPLY.done(run, entry, it)
  local scope, id = it.scope, it.step.id
  close(run, it, "done")
  scope.runs[id] = (scope.runs[id] or 0) + (entry.partial and 0 or 1)
  scope.barred[id], scope.alike[id], scope.counted[id] = nil, nil, nil
  for key, value in pairs(entry.set or {}) do
    scope.state[key] = value
  end
end

function APPLY.fail(run, entry, it)
  local step, scope = it.step, it.scope
  local known = scope.alike[step.id]
  scope.alike[step.id] = { sign = sign_of(entry), n = (known and known.sign == sign_of(entry) and known.n or 0) + 1 }
  if entry.retry then
    step.retries = step.retries + 1
    step.due_at, step.due_process = entry.at - run.moved + entry.retry, run.process
    if entry.blame then
      ask_anew(step, entry.blame)
    end
  elseif entry.over == "script" then
    step.retries = 0
  else
    for _, call in pairs(step.calls) do -- what only waited is waited for anew, where the step is resumed
      call.state = call.state == "asked" and not call.sub and "allowed" or call.state
    end
    close(run, it, "failed")
    scope.errors, scope.free[step.id] = scope.errors + (entry.free and 0 or 1), entry.free
    scope.over[step.id] = not entry.again and "failed" or nil
    scope.counted[step.id] = not (entry.again and run.phase_at[step.id]) or nil
    scope.fatal = entry.over == "fail" and step.id or scope.fatal
  end
end

function APPLY.skip(run, entry, it)
  if entry.step then
    close(run, it, "skipped")
  else
    it.scope.over[entry.phase] = "skipped"
  end
end

-- What a rollback does not change: usage, failures, what can be undone.
local GROWS <const> = { "sub", "limits", "spent", "spent_by", "errors", "undo", "knows" }

-- A run is rolled back: it is as it was after that record. A step that was under way there may be resumed with the
-- results it had; calls without a result, sub-runs and questions count as not started. Usage, questions and arrivals
-- stay, and that a sub-run which was given up may have acted. A fork starts the same way from another run; it has used
-- nothing yet.
function APPLY.rollback(run, entry)
  run.rolled = true
  local there = run.replay(entry.to, entry.from)
  for _, name in ipairs(GROWS) do
    there.scopes[""][name] = run.scopes[""][name]
  end
  there.scopes[""].open, there.scopes[""].alike = 0, {}
  for _, step in pairs(there.steps) do
    step.given_up = given_up_acted(there, step)
  end
  for number, step in pairs(there.steps) do
    if step.state == "open" and step.scope.sub == "" and not step.undoes then
      step.state = "failed"
      for place, call in pairs(step.calls) do
        step.calls[place] = call.state == "finished" and call or nil
      end
    elseif step.state == "open" then
      there.steps[number] = nil
    end
  end
  run.scopes, run.steps, run.questions, run.waits, run.cut = there.scopes, there.steps, {}, {}, nil
end

-- A person retries a failed step: what prevented it no longer does.
function APPLY.retry(_, entry, it)
  local scope, id = it.scope, entry.action or entry.phase
  local is_error = not scope.free[id] and (not entry.harmless or scope.counted[id])
  scope.errors, scope.counted[id] = math.max(0, scope.errors - (is_error and 1 or 0)), nil
  scope.retrying, scope.harmless, scope.barred[id], scope.aborting, scope.over[id] = id, entry.harmless, nil, nil, nil
  scope.decided[id] = entry.harmless and scope.decided[id] or nil
  scope.fatal = scope.fatal ~= id and scope.fatal or nil
  for _, forgotten in ipairs(entry.forget or {}) do
    scope.runs[forgotten] = nil -- as if it had never run
  end
end

function APPLY.rounds(_, entry, it)
  for _, id in ipairs(entry.phases or {}) do
    it.scope.over[id] = it.scope.over[id] == "failed" and "failed" or nil
  end
end

function APPLY.loop(_, _, it)
  it.scope.loop_over = true
end

function APPLY.undoable(_, entry, it)
  table.insert(it.scope.undo, { step = entry.step, id = entry.id })
end

function APPLY.abort(_, _, it)
  it.scope.aborting = true
end

-- ---- the witness ----

local function sent_by_label(sent)
  local by = {}
  for _, one in ipairs(sent) do
    by[one.label] = by[one.label] or {}
    table.insert(by[one.label], one)
  end
  return by
end

-- Each sending has its record: the intent is durable before a call is sent.
local function each_has_its_record(list, sent, wrong)
  local recorded = {}
  for _, entry in ipairs(list) do
    local label = entry.t == "call" and (entry.label or entry.to)
    if label then
      recorded[label] = (recorded[label] or 0) + 1
    end
  end
  for label, times in pairs(sent_by_label(sent)) do
    if #times > (recorded[label] or 0) then
      wrong(("%s was sent %d times, and the journal knows of %d"):format(label, #times, recorded[label] or 0))
    end
  end
end

-- A recorded answer was really given, and to this call.
local function each_answer_was_given(list, sent, wrong)
  local by, label_at = sent_by_label(sent), {}
  for _, entry in ipairs(list) do
    local place = ("%s/%s"):format(entry.step, entry.c)
    local body = entry.t == "result" and entry.reply and entry.reply.body
    local said = type(body) == "string" and body:match "^did (%S+)$"
    label_at[place] = entry.t == "call" and (entry.label or entry.to) or label_at[place]
    if said then
      local given
      for _, one in ipairs(by[said] or {}) do
        given = given or one.acted
      end
      if not given or said ~= label_at[place] then
        wrong(("%s is recorded as the answer of %s, which %s"):format(body, label_at[place],
          given and "is another call" or "was not given"))
      end
    end
  end
end

-- What is recorded as not executed was not: every sending that acted has another end.
local function unsent_is_not_executed(list, sent, wrong)
  local may_have, label_at = {}, {}
  for _, entry in ipairs(list) do
    local place = ("%s/%s"):format(entry.step, entry.c)
    local label = entry.t == "call" and (entry.label or entry.to) or label_at[place]
    label_at[place] = entry.t == "call" and label or nil
    if label and (entry.t == "call" or entry.t == "result" and entry.unsent) then
      may_have[label] = (may_have[label] or 0) + (entry.t == "call" and 1 or -1)
    end
  end
  for label, times in pairs(sent_by_label(sent)) do
    local acted = 0
    for _, one in ipairs(times) do
      acted = acted + (one.acted and 1 or 0)
    end
    if acted > (may_have[label] or 0) then
      wrong(("%s acted %d times, and is recorded as not executed"):format(label, acted))
    end
  end
end

-- A combinator has no more calls under way at once than its max_parallel allows: "a-2.i1" is a call of one with two.
local function at_once(sent, wrong)
  local groups = {}
  for _, one in ipairs(sent) do
    for before, most, rest in one.label:gmatch "()%-(%d)()" do
      local inner = one.label:sub(rest):find(":", 1, true) -- calls of a sub-run are no calls of the combinator
      local name = ("%s-%s"):format(one.label:sub(1, before - 1):gsub("^idem", ""):gsub("^once", ""), most)
      if not inner then
        groups[name] = groups[name] or { most = tonumber(most) }
        table.insert(groups[name], one)
      end
    end
  end
  for name, list in pairs(groups) do
    for _, one in ipairs(list) do
      local count = 0
      for _, other in ipairs(list) do
        count = count + (other.began <= one.began and one.began < other.ended and 1 or 0)
      end
      if count > list.most then
        wrong(("%s: %d calls are under way at once"):format(name, count))
      end
    end
  end
end

-- An exchange takes no longer than step_timeout.
local function in_time(sent, skill, wrong)
  local most = skill.limits.step_timeout
  for _, one in ipairs(most and sent or {}) do
    local late_ms = LATE_MS + (one.key == "" and SYNC_MS or 0)
    if one.ms > most * 1000 + late_ms and not one.label:find(":", 1, true) then
      wrong(("%s took %d ms, and step_timeout is %d seconds"):format(one.label, one.ms, most))
    end
  end
end

-- ---- all rules ----

local OF_CALL <const> = { call = true, attempt = true, result = true, doubt = true, tool = true }

-- The scope, step and call that a record is about.
local function about(run, entry)
  local step = entry.step and run.steps[entry.step]
  if entry.t == "start" then
    step = step or { state = "none", calls = {}, rounds = {}, retries = 0 }
    run.steps[entry.step] = step
  end
  local is_of_scope = entry.t == "start" or not (step and step.scope)
  local scope = is_of_scope and run.scopes[entry.sub or ""] or step and step.scope
  return { step = step, scope = scope, id = entry.action or entry.phase or step and step.id,
    call = OF_CALL[entry.t] and call_at(step, entry.c) or nil }
end

-- A run of this skill before its first record.
local function new_run(skill)
  local run = { skill = skill, scopes = {}, steps = {}, added = {}, questions = {}, last_q = 0, arrivals = {},
    events = {}, waits = {}, process = 1, moved = 0, active = 0, last_at = 0, actions = {}, phase_at = {} }
  for i, phase in ipairs(skill.phases or {}) do
    run.phase_at[phase.id] = i
  end
  for _, action in ipairs(skill.actions or {}) do
    run.actions[action.id] = action
  end
  return run
end

-- Walks the records up to the one with this number; `wrong` nil: checks no rule.
local walk

function walk(list, skill, last, wrong, origin)
  local run = new_run(skill)
  function run.replay(to, is_fork)
    return walk(is_fork and origin or list, skill, to, nil, origin)
  end
  for number, entry in ipairs(list) do
    if last and list.seqs[number] > last then
      break
    end
    local it, rules = about(run, entry), wrong and RULES[entry.t]
    it.following = list[number + 1]
    for i = 1, rules and #rules or 0 do
      local why = rules[i](run, entry, it)
      if why then
        wrong(("record %d, %s of step %s, call %s: %s"):format(number, entry.t, entry.step, entry.c, why))
      end
    end
    if APPLY[entry.t] then
      APPLY[entry.t](run, entry, it)
    end
    run.last_at = entry.at or run.last_at
  end
  return run
end

---@param list table[]  the records of a journal, in their order; `seqs`: their numbers
---@param sent table[]  what the witness saw: { label, key, acted, idempotent, episode, began, ended, ms, forgotten =
---  its record may be lost, unnoticed }
---@param skill skillrt.Skill
---@param wrong fun(message: string)
---@param origin table[]|nil  of a fork: the records of the run that it comes from
---@param unnoticed integer|nil  by how many ms clocks were set without a record of it
function M.check(list, sent, skill, wrong, origin, unnoticed)
  tick_ms = TICK_MS + (unnoticed or 0)
  walk(list, skill, nil, wrong, origin)
  each_answer_was_given(list, sent, wrong)
  local known = {}
  for _, one in ipairs(sent) do
    known[#known + 1] = not one.forgotten and one or nil
  end
  sent = known
  each_has_its_record(list, sent, wrong)
  unsent_is_not_executed(list, sent, wrong)
  at_once(sent, wrong)
  in_time(sent, skill, wrong)
end

return M
