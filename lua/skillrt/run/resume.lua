-- run/resume.lua: what a run does first when it goes on: checks, a person's answers and edits.
--
-- Refuses what must not go on (a finished run, changed files), then records what was decided.
-- Knows the policy and its ledger, no files. Called by policy.lua.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local outcome = require("skillrt.run.outcome")
local state = require("skillrt.skill.state")
local views = require("skillrt.run.views")

local M = {}

local function refuse(code, ...)
  error({ message = string.format(...), code = code }, 0)
end

-- Files that the journal pinned and that are different now (or gone).
local function changed_files(pins, now)
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

local function check_status(policy)
  local ledger = policy.ledger
  if policy.retry or policy.from then
    return
  elseif ledger.status == "completed" or ledger.status == "aborted" then
    refuse(
      "invalid",
      "%s: the run is %s (%s); there is nothing to go on with",
      policy.work_dir,
      ledger.status,
      ledger.reason
    )
  elseif ledger.status == "failed" then
    refuse(
      "invalid",
      "%s: the run has failed (%s); `skillrt retry %s` tries its last failed step again",
      policy.work_dir,
      ledger.reason,
      policy.work_dir
    )
  end
end

local function check_pins(policy)
  local changed = changed_files(policy.ledger.pins, policy.pins)
  if #changed == 0 then
    return
  elseif not policy.accept_changes then
    refuse(
      "changed",
      "%s: changed since the run began: %s; go on with them by --accept-changes",
      policy.work_dir,
      table.concat(changed, ", ")
    )
  end
  assert(policy:emit({ t = "accept", pins = policy.pins, changed = changed }))
end

-- What a person changed in state.json, against what it showed; what came later stays.
local function take_edit(policy, base)
  local patch, ignored = {}, json.array({})
  for key, value in pairs(state.diff(base, policy.edited.state)) do
    if state.is_reserved(key) then
      ignored[#ignored + 1] = key
    else
      patch[key] = value
    end
  end
  table.sort(ignored)
  if next(patch) ~= nil or #ignored > 0 then
    assert(policy:emit({ t = "edit", set = patch, ignored = #ignored > 0 and ignored or nil }))
  end
end

local function take_retry(policy)
  local failed = policy.ledger.last_failed
  if not failed then
    refuse("invalid", "%s: no step of this run has failed; there is nothing to retry", policy.work_dir)
  end
  local forget = json.array({})
  for _, one in ipairs(policy.skill.actions) do
    local over = policy.ledger.completed[one.id] or policy.ledger.failed[one.id]
    if one.terminal and over and one.id ~= failed.id then
      forget[#forget + 1] = one.id
    end
  end
  assert(policy:emit({ t = "retry", [failed.kind] = failed.id, forget = #forget > 0 and forget or nil }))
end

local function take_rewind(policy)
  local phases, on, loop = json.array({}), false, false
  for _, phase in ipairs(policy.skill.phases) do
    on = on or phase.id == policy.from
    if on then
      phases[#phases + 1] = phase.id
      loop = loop or not phase.trailing
    end
  end
  if not on then
    refuse("missing", "Phase not found: %s", policy.from)
  end
  assert(policy:emit({ t = "rewind", phases = phases, loop = loop or nil }))
end

-- An answer must be one that the question offers; false: the person gave up.
local function check_answer(policy)
  local question, answer = policy.ledger.question, policy.answer
  if not question then
    refuse("invalid", "%s: no question is open in this run", policy.work_dir)
  end
  local ids = {}
  for i, option in ipairs(question.options or {}) do
    if option.id == answer then
      return
    end
    ids[i] = option.id
  end
  if #ids > 0 and (answer ~= false or question.step) and not (question.more and question.more > 0) then
    refuse(
      "invalid",
      "%s: %s is no answer to its question; it must be one of %s",
      policy.work_dir,
      names.show(answer),
      table.concat(ids, ", ")
    )
  end
end

---What completed phases wrote is there again for those that follow.
---@param policy skillrt.Policy
function M.restore_outputs(policy)
  if policy.ledger.context_strategy == "memory" then
    return
  end
  local written, message = outcome.restore(policy)
  if message then
    error({ message = message, code = "system" }, 0)
  end
  for _, file in ipairs(written) do
    assert(policy:emit({ t = "note", text = file .. ": was gone, written again from the journal" }))
  end
end

---Records that the run goes on, after every reason not to.
---@param policy skillrt.Policy
function M.begin(policy)
  local ledger = policy.ledger
  if ledger.skill ~= policy.skill.name then
    refuse("changed", "%s: is a run of %s, not of %s", policy.work_dir, ledger.skill, policy.skill.name)
  end
  check_status(policy)
  if policy.answer ~= nil then
    check_answer(policy)
  end
  local base = policy.edited and (policy.edit_base or state.copy(views.state(ledger)))
  check_pins(policy)
  assert(policy:emit({ t = "resume", by = policy.by }))
  if base then
    take_edit(policy, base)
  end
  if policy.answer ~= nil then
    assert(policy:emit({ t = "answer", value = policy.answer, step = ledger.question.step }))
  end
  if policy.decide and ledger.question and ledger.question.step then
    assert(policy:emit({ t = "answer", value = policy.decide, step = ledger.question.step }))
  end
  if policy.from then
    take_rewind(policy)
  elseif policy.retry then
    take_retry(policy)
  end
end

return M
