-- run/resume.lua: the first steps of a resume: checks, a person's answers and edits.
--
-- Refuses runs that must not be resumed (finished, changed files), then records what was decided. Knows the turn and
-- its books, no files. Called by turn.lua.

local asked = require("skillrt.run.books.questions")
local books_of = require("skillrt.run.books")
local choices = require("skillrt.skill.choices")
local json = require("skillrt.base.json")
local limits_of = require("skillrt.skill.limits")
local names = require("skillrt.base.names")
local output_files = require("skillrt.run.output_files")
local question_of = require("skillrt.skill.question")
local questions = require("skillrt.run.questions")
local programs = require("skillrt.run.call.programs")
local record = require("skillrt.base.record")
local repeats = require("skillrt.mode.repeats")
local state = require("skillrt.skill.state")
local views = require("skillrt.run.views")

local M = {}

local function refuse(code, ...)
  error({ message = string.format(...), code = code }, 0)
end

---Files that the journal pinned and that have changed (or are gone).
---@param pins table<string, string>
---@param now table<string, string>
---@return string[]
function M.changed_files(pins, now)
  local changed = {}
  for name, digest in pairs(pins) do
    if now[name] ~= digest then
      changed[#changed + 1] = name .. (now[name] and "" or " (missing)")
    end
  end
  for name in pairs(now) do
    if not pins[name] then
      changed[#changed + 1] = name .. " (new)"
    end
  end
  table.sort(changed)
  return changed
end

-- The first action or phase of a skill that is meant, as { id, kind }.
local function declared(skill, is_meant)
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      if is_meant(one) then
        return { id = one.id, kind = one.kind }
      end
    end
  end
end

local function is_declared(skill, failed)
  return declared(skill, function(one) return one.id == failed.id and one.kind == failed.kind end) ~= nil
end

-- A raised limit must exist, and the amount must be in its unit.
local function check_add(turn)
  local known, limit = limits_of.of_skill(turn.run.skill), turn.books.limit
  if limit and limit:find("^sub/") then -- of a sub-run: the one at which the run ended
    known[limit] = limits_of.ended_by(turn.books.reason)
  end
  for _, full in ipairs(names.sorted(turn.session.add or {})) do
    local row, amount = known[full], turn.session.add[full]
    local is_whole = row and row.type ~= "seconds" and row.type ~= "amount"
    if not row then
      refuse("invalid", "%s: this run has no limit %s%s", turn.run.store.place, names.show(full),
        names.suggest(full, known))
    elseif type(amount) ~= "number" or not (amount > 0 and amount < math.huge)
      or is_whole and not math.tointeger(amount) then
      refuse("invalid", "%s: the amount added to %s must be %s above 0, not %s", turn.run.store.place, full,
        is_whole and "a whole number" or "a number", names.show(amount))
    end
  end
end

-- Whether the limit that a failed run reached is raised now.
local function raises_its_limit(turn)
  local add, limit = turn.session.add, turn.books.limit
  return add ~= nil and limit ~= nil and add[limit] ~= nil
end

-- The ways to continue a failed run.
local function ways_on(turn)
  local dir, books, ways = turn.run.store.place, turn.books, {}
  if books.last_failed and is_declared(turn.run.skill, books.last_failed) then
    ways[1] = ("`skillrt retry %s` tries its last failed step again"):format(dir)
  end
  if books.limit then
    local limit = books.limit:find(" ", 1, true) and ("'%s'"):format(books.limit) or books.limit
    ways[#ways + 1] = ("`skillrt resume %s --add %s=NUMBER` raises the limit"):format(dir, limit)
  end
  return ways[1] and table.concat(ways, ", ") or ("`skillrt log %s` shows what led to it"):format(dir)
end

-- What is performed again when a finished run is resumed.
local function to_resume(turn)
  local books, skill = turn.books, turn.run.skill
  local failed = books.last_failed
  return declared(skill, function(one)
    return one.kind == "action" and one.resumable and (books.completed[one.id] or books.failed[one.id])
  end)
    or failed and is_declared(skill, failed) and failed or nil
end

-- A step that waits for its code to be fixed.
local function slipped(books, id)
  for _, step in pairs(books.steps) do
    if step.since > 0 and not step.sub and (not id or step.id == id) then
      return step
    end
  end
end

-- Reports first what it costs to ask all agents again.
local function check_scratch(turn, id)
  if turn.session.yes then
    return
  end
  local books = turn.books
  local step, acted = slipped(books, id) or (books.held or {})[id] or {}, {}
  local count = 0
  for place, known in pairs(step.known or {}) do
    count = count + (known.to and not known.pure and 1 or 0)
    acted[#acted + 1] = repeats.acted(known) and ("call %s to %s"):format(place, known.to) or nil
  end
  table.sort(acted)
  local used = {}
  for _, name in ipairs(names.sorted(books.spent_by[id] or {})) do
    local what = name:match("^usage%.(.+)$")
    used[#used + 1] = what and ("%s %s"):format(books.spent_by[id][name], what) or nil
  end
  error({ code = "changed", message = ("%s: %s from scratch repeats %d recorded %s; used so far: %s; "
    .. "%s\nto do it: --from-scratch --yes"):format(turn.run.store.place, id, count,
    count == 1 and "call" or "calls",
    used[1] and table.concat(used, ", ") or "nothing",
    acted[1] and "these may have had side effects, which would happen again:\n" .. names.lines(acted, 10)
      or "none had side effects") }, 0)
end

-- What a person wants to retry: the latest failure; or what they named, if it failed, was skipped or decided about.
local function to_retry(turn)
  local books, wanted = turn.books, turn.session.retry
  if wanted == true then
    return books.last_failed or turn.session.from_scratch and (slipped(books) or to_resume(turn)) or nil
  end
  local may = turn.session.from_scratch and (slipped(books, wanted) or books.completed[wanted])
    or books.failed[wanted] or books.skipped[wanted] or books.given_up[wanted] or (books.held or {})[wanted]
    or (books.decided or {})[wanted]
  return may and declared(turn.run.skill, function(one) return one.id == wanted end)
    or refuse("invalid", "%s: %s has not failed in this run; there is nothing to retry", turn.run.store.place,
      names.show(wanted))
end

-- Whether a file that decides has changed since the run started. A new helper does not count: the file that loads it
-- has changed, or loads it late.
local function has_changed(turn)
  local before, now = turn.books.pins, turn.session.pins
  M.take_helpers(before, now, turn.run.skill)
  for _, name in ipairs(M.changed_files(before, now)) do
    if not name:find("^helper .* %(new%)$") then
      return true
    end
  end
  return false
end

local function check_status(turn, retry)
  local books, from = turn.books, turn.session.from
  if from then
    if not is_declared(turn.run.skill, { kind = "phase", id = from }) then
      local ids = {}
      for i, phase in ipairs(turn.run.skill.phases) do
        ids[i] = phase.id
      end
      refuse("missing", "Phase not found: %s%s", from, names.suggest(from, ids))
    end
  elseif retry then
    local failed = to_retry(turn)
    if failed and turn.session.from_scratch then
      check_scratch(turn, failed.id)
    end
    if not failed then
      refuse("invalid", "%s: no step of this run has failed; there is nothing to retry", turn.run.store.place)
    elseif not is_declared(turn.run.skill, failed) then
      refuse("invalid", "%s: %s %s, which failed last, is no longer part of the skill; %s", turn.run.store.place,
        failed.kind, failed.id, ways_on(turn))
    end
  elseif books.status == "aborted" or books.status == "completed" and not turn.session.add
    and not turn.session.steer and not has_changed(turn) then
    refuse("invalid", "%s: the run is %s (%s); there is nothing to %s", turn.run.store.place, books.status,
      books.reason, turn.session.abort and "abort" or "resume")
  elseif books.status == "failed" and books.limit and books.limit ~= "max_errors" and not raises_its_limit(turn) then
    refuse("invalid", "%s: the run has failed (%s); %s", turn.run.store.place, books.reason, ways_on(turn))
  end
end

---Helpers are loaded when the script asks for them: missing ones are not loaded yet, and new ones have not changed.
---@param before table<string, string>  what the journal pinned
---@param now table<string, string>  written to
---@param skill skillrt.Skill
---@return table<string, string>|nil fresh
function M.take_helpers(before, now, skill)
  local fresh = {}
  local dir = skill.source and skill.source:match("^(.*)/[^/]*$") or "."
  for name in pairs(before) do
    if not now[name] and name:find("^helper ") then
      now[name] = require("skillrt.base.environment").digest_of(name, dir)
    end
  end
  for name, digest in pairs(now) do
    if not before[name] and name:find("^helper ") then
      fresh[name] = digest
    end
  end
  return next(fresh) and fresh or nil
end

---A run or sub-run is not resumed with changed files, unless they are accepted.
---@param turn skillrt.Turn
---@param books skillrt.Books  of the run or sub-run
---@param pins table<string, string>  the present digests of its files
---@param skill skillrt.Skill
function M.check_pins(turn, books, pins, skill)
  local fresh = M.take_helpers(books.pins, pins, skill)
  if fresh then
    assert(turn:emit({ t = "pin", sub = books.sub, pins = fresh }))
  end
  local changed = M.changed_files(books.pins, pins)
  if #changed == 0 then
    return
  elseif not turn.session.accept_changes
    and not (books.status == "paused" and books.reason == "script_error") then -- it waits for just that
    local since = books.sub and ("of the sub-run %s (%s) changed since it began"):format(books.sub, books.skill)
      or "changed since the run began"
    refuse("changed", "%s: %s: %s; to resume with the changes, add --accept-changes", turn.run.store.place, since,
      table.concat(changed, ", "))
  end
  assert(turn:emit({ t = "accept", sub = books.sub, pins = pins, changed = changed, choices = choices.of(skill) }))
end

-- What a person changed in state.json, compared with what it showed; later changes stay.
local function take_edit(turn, base)
  local patch, ignored = {}, json.array({})
  for key, value in pairs(state.diff(base, turn.session.edited.state)) do
    if state.is_reserved(key) then
      ignored[#ignored + 1] = key
    else
      patch[key] = value
    end
  end
  table.sort(ignored)
  if next(patch) ~= nil or #ignored > 0 then
    assert(turn:emit({ t = "edit", set = patch, ignored = #ignored > 0 and ignored or nil }))
  end
end

-- Terminal actions that have completed: with them the run would end again.
local function over_terminals(turn, but)
  local list = json.array({})
  for _, one in ipairs(turn.run.skill.actions) do
    local over = turn.books.completed[one.id] or turn.books.failed[one.id]
    if one.terminal and over and one.id ~= but then
      list[#list + 1] = one.id
    end
  end
  return list[1] and list or nil
end

-- An action or phase is performed again; further fields of its record: `scratch`, `harmless`.
local function perform_again(turn, one, entry)
  local forget, run = over_terminals(turn, one.id), turn.run
  if turn.books.completed[one.id] then
    forget = forget or json.array({})
    forget[#forget + 1] = one.id
  end
  entry.t, entry[one.kind], entry.forget = "retry", one.id, forget
  entry.move = run.skill.machine and require("skillrt.run.moves").back(run, one.id) or nil
  assert(turn:emit(entry))
end

-- Some phases run again; further fields of the record: `loop`, `forget`, `forgive`.
local function rewind(turn, is_meant, entry)
  entry.t, entry.phases = "rewind", json.array({})
  for _, phase in ipairs(turn.run.skill.phases) do
    entry.phases[#entry.phases + 1] = is_meant(phase) and phase.id or nil
  end
  assert(turn:emit(entry))
end

-- Forgets what ended the run. If that was a limit that is raised now, the loop of a hybrid run continues, and the
-- phases after it run again.
local function forget_end(turn, is_raised)
  local loop = turn.books.loop_end and true or nil
  rewind(turn, function(phase) return is_raised and loop and phase.trailing end, { loop = loop,
    forget = over_terminals(turn), forgive = is_raised and turn.books.fatal or nil })
end

-- A finished run is resumed: performs the action of a workflow again, or the step that failed last, with all their
-- recorded results; else only forgets what ended it.
local function take_end(turn, is_allowed)
  local again = to_resume(turn)
  if again then
    return perform_again(turn, again, { harmless = not is_allowed or nil })
  end
  forget_end(turn)
end

---A sub-run that had failed is resumed when the call that waits for it is sent again.
---@param turn skillrt.Turn  the run's
---@param sub skillrt.Sub
function M.reopen(turn, sub)
  local books = sub.run.books
  if books.permission and not books.retrying then
    take_end({ books = books, run = sub.run, emit = function(_, entry)
      entry.sub = sub.id
      return turn:emit(entry)
    end }, books.permission == "allowed")
  end
end

-- A phase runs again, and all after it.
local function run_from(turn, id)
  local entry, is_behind = {}, false
  rewind(turn, function(phase)
    is_behind = is_behind or phase.id == id
    entry.loop = entry.loop or is_behind and not phase.trailing or nil
    return is_behind
  end, entry)
end

-- A person's answers: one, several, or one for all questions that offer it. Each must be accepted by its question.
local function answers_of(turn)
  local session, list = turn.session, {}
  if session.answer ~= nil then
    list[1] = { question = session.question, value = session.answer, nonce = session.nonce,
      approval = session.approval }
  end
  table.move(session.answers or {}, 1, #(session.answers or {}), #list + 1, list)
  local wanted = session.answer_all
  for _, one in ipairs(wanted ~= nil and asked.list(turn.books) or {}) do
    list[#list + 1] = not question_of.refusal(one.question, wanted) and { question = one.q, value = wanted } or nil
  end
  if wanted ~= nil and #list == 0 then
    refuse("invalid", "%s: no open question accepts %s", turn.run.store.place, names.show(wanted))
  end
  local seen = {}
  for _, answer in ipairs(list) do
    local question, why, code = questions.find(turn.books, answer)
    if not question then
      refuse(code or "invalid", "%s: %s", turn.run.store.place, why)
    elseif seen[question.q] then
      refuse("invalid", "%s: question %d is answered twice", turn.run.store.place, question.q)
    end
    seen[question.q] = true
    answer.question = question.q -- the only open question may not be the only one later
  end
  return list[1] and list or nil
end

---A record read back after state.json was edited: what it showed may be older than the newest snapshot.
---@param turn skillrt.Turn
---@param payload string
---@param seq integer
---@return table|nil state  what it showed: this is the first record after it
function M.record(turn, payload, seq)
  local journal, edited = turn.journal, turn.session.edited
  journal:take_back(payload, seq, true)
  local entry, message, code = record.decode(payload, journal.source.read_blob)
  if not entry then
    error({ message = ("record %d: %s"):format(seq, message), code = code }, 0)
  end
  local shown = not turn.edit_base and seq > edited.seq and state.copy(views.state(turn.books)) or nil
  books_of.apply(turn.books, entry, seq)
  return shown
end

---Changes that make a step discard its results need their own approval.
---@param turn skillrt.Turn
---@param dropped string[]|nil
function M.check_dropped(turn, dropped)
  if not dropped or turn.session.yes then
    return
  end
  local text = "%s: these changes discard recorded calls, which would be repeated:\n%s\n"
    .. "to resume and repeat them: --accept-changes --yes"
  error({
    message = text:format(turn.run.store.place, names.lines(dropped, 10)),
    code = "changed",
    dropped = dropped,
  }, 0)
end

---Restores the files that completed phases wrote, for later phases.
---@param turn skillrt.Turn
function M.restore_outputs(turn)
  if turn.books.context_strategy == "memory" then
    return
  end
  local written, message = output_files.restore(turn.run.store, turn.books)
  if message then
    error({ message = message, code = "system" }, 0)
  end
  for _, file in ipairs(written) do
    turn.journal:note(file .. ": was missing, and was restored from the journal")
  end
end

-- What was truncated from the journal since the run was last resumed, and whether reported results may have been in
-- it: after `recover --cut`, or a damaged end that no kill explains.
local function cuts_of(turn, torn)
  local known, all, new, doubtful = {}, json.array({}), false, nil
  for _, name in ipairs(turn.books.cuts or {}) do
    known[name] = true
  end
  for i, name in ipairs(turn.run.store:cuts()) do
    all[i] = name
    new = new or not known[name]
    doubtful = doubtful or (not known[name] and name ~= torn) or nil
  end
  return new and all or nil, doubtful
end

---Records that the run is resumed, after all checks.
---@param turn skillrt.Turn
---@param torn string?  the file of an end that a kill left incomplete: it held nothing that was reported
function M.begin(turn, torn)
  local books = turn.books
  if books.skill ~= turn.run.skill.name then
    refuse("changed", "%s: is a run of %s, not of %s", turn.run.store.place, books.skill, turn.run.skill.name)
  end
  local retry = turn.session.retry
  if retry and books.reason == "script_error" and not (turn.session.from_scratch or turn.session.from) then
    retry = nil -- its step is open, and is resumed
  end
  check_add(turn)
  check_status(turn, retry)
  local raised = books.status == "failed" and raises_its_limit(turn)
  local ended = not raised and (books.status == "failed" or books.status == "completed") and not retry
    and not turn.session.from
  turn.arrivals:reopen(answers_of(turn))
  local base = turn.session.edited and (turn.edit_base or state.copy(views.state(books)))
  M.check_pins(turn, books, turn.session.pins, turn.run.skill)
  local told, message = programs.end_left(books)
  if message then
    refuse("system", "%s: %s", turn.run.store.place, message)
  end
  local rolled = books.rolled
  local cuts, doubtful = cuts_of(turn, torn)
  local bounds = limits_of.bounds(turn.run.skill) or {}
  assert(turn:emit({ t = "resume", by = turn.session.by, add = turn.session.add, cuts = cuts,
    doubtful = doubtful, bounds = not state.equal(bounds, books.bounds or {}) and bounds or nil }))
  told[#told + 1] = turn.session.note
  for _, line in ipairs(told) do
    turn.journal:note(line)
  end
  if rolled then
    require("skillrt.run.travel.rolled_files").finish(turn, rolled)
  end
  if books.talking then
    require("skillrt.run.call.kind.session").lost(turn)
  end
  if turn.session.steer then
    local ok, why = require("skillrt.run.steering").resume(turn, (to_resume(turn) or {}).id, turn.session.steer)
    if not ok then
      refuse("invalid", "%s: %s", turn.run.store.place, why)
    end
  end
  if raised then
    forget_end(turn, true)
  elseif ended then
    take_end(turn)
  end
  if base then
    take_edit(turn, base)
  end
  if turn.session.abort then
    assert(turn:emit({ t = "abort", reason = "user_abort" }))
  elseif turn.session.from then
    run_from(turn, turn.session.from)
  elseif retry then
    perform_again(turn, to_retry(turn), { scratch = turn.session.from_scratch })
  end
end

return M
