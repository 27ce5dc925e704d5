-- resume.lua: what a run does first when it goes on: checks, a person's answers and edits.
--
-- Refuses what must not go on (a finished run, changed files), then records what was decided.
-- Knows the policy and its ledger, no files. Called by policy.lua.

local state = require("skillrt.state")

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
      "finished",
      "%s: the run is %s (%s); there is nothing to go on with",
      policy.work_dir,
      ledger.status,
      ledger.reason
    )
  elseif ledger.status == "failed" then
    refuse(
      "finished",
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

local function take_edit(policy)
  local edited = policy.edited
  if not edited then
    return
  end
  local base = policy.edit_base or policy.ledger.state.root
  local patch = {}
  for key, value in pairs(state.diff(base, edited.state)) do
    if not state.is_reserved(key) then
      patch[key] = value
    end
  end
  if next(patch) ~= nil then
    assert(policy:emit({ t = "edit", set = patch }))
  end
end

local function take_retry(policy)
  local failed = policy.ledger.last_failed
  if not failed then
    refuse("finished", "%s: no step of this run has failed; there is nothing to retry", policy.work_dir)
  end
  assert(policy:emit({ t = "retry", [failed.kind] = failed.id }))
end

local function take_rewind(policy)
  local phases, on = {}, false
  for _, phase in ipairs(policy.skill.phases) do
    on = on or phase.id == policy.from
    if on then
      phases[#phases + 1] = phase.id
    end
  end
  if not on then
    refuse("missing", "Phase not found: %s", policy.from)
  end
  assert(policy:emit({ t = "rewind", phases = phases }))
end

---Records that the run goes on, after every reason not to.
---@param policy skillrt.Policy
function M.begin(policy)
  local ledger = policy.ledger
  if ledger.skill ~= policy.skill.name then
    refuse("changed", "%s: is a run of %s, not of %s", policy.work_dir, ledger.skill, policy.skill.name)
  end
  check_status(policy)
  check_pins(policy)
  assert(policy:emit({ t = "resume", by = policy.by }))
  take_edit(policy)
  if policy.answer ~= nil then
    if not ledger.question then
      refuse("invalid", "%s: no question is open in this run", policy.work_dir)
    end
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
