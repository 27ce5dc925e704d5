-- run/doubt.lua: steps that were under way when a run stopped: which go on, which are in doubt.
--
-- A request whose reply is not there leaves again only where that does no harm; else the skill
-- or a person decides (F40). Knows the ledger through policy.lua, which alone calls it.

local fatal = require("skillrt.base.fatal")
local names = require("skillrt.base.names")

local M = {}

local CHOICES = { retry = true, skip = true, fail = true, ask = true }

local function decide(policy, step)
  local choice = step.decision or policy.decide or policy.skill.on_indoubt
  if type(choice) ~= "function" then
    return choice
  end
  local ok, said = pcall(choice, { id = step.id, step = step.number, attempt = step.attempt, to = step.sent.to })
  if not ok then
    fatal.pass_on(said)
    said = "on_indoubt failed: " .. tostring(said)
  elseif CHOICES[said] then
    return said
  else
    said = ('on_indoubt gave %s; it must give "retry", "skip", "fail" or "ask"'):format(names.show(said))
  end
  policy:note(step, said)
  return "ask"
end

-- One open step: goes on, is given up, or waits for a person.
local function take_up_step(policy, step)
  local number = step.number
  if not policy.mode:find(step.id) then
    assert(policy:emit({ t = "skip", step = number, why = "its definition is no longer part of the skill" }))
    return
  end
  local choice = not step.sent and "retry" or (step.sent.idem and "retry" or decide(policy, step))
  if choice == "retry" then
    if step.sent then -- the same exchange leaves again, with the same key
      step.sends = step.sent.x - 1
      step.sent = nil
    end
    policy.going_on[#policy.going_on + 1] = number
  elseif choice == "skip" then
    assert(policy:emit({ t = "skip", step = number, why = "skipped by decision" }))
  elseif choice == "fail" then
    assert(policy:emit({
      t = "fail",
      step = number,
      attempt = step.attempt,
      class = "permanent",
      message = ("%s: interrupted, and decided to have failed"):format(step.id),
    }))
  else
    policy.waiting[#policy.waiting + 1] = step
  end
end

---Takes up the steps that were under way when the run stopped, by what is known of each.
---@param policy skillrt.Policy
function M.take_up(policy)
  local numbers = {}
  for number in pairs(policy.ledger.steps) do
    numbers[#numbers + 1] = number
  end
  table.sort(numbers)
  policy.waiting, policy.going_on = {}, {}
  for _, number in ipairs(numbers) do
    take_up_step(policy, policy.ledger.steps[number])
  end
  policy.waiting = #policy.waiting > 0 and policy.waiting or nil
end

---The question about a request in doubt, or nil.
---@param policy skillrt.Policy
---@return table|nil question
function M.undecided(policy)
  local step = policy.waiting and policy.waiting[1]
  if not step then
    return nil
  end
  return {
    step = step.number,
    header = "In doubt",
    question = ("%s: its request to %s left, and the run was interrupted before a reply. Send it again?"):format(
      step.id,
      step.sent.to
    ),
    options = {
      { id = "retry", label = "retry", description = "send it again with the same idempotency key" },
      { id = "skip", label = "skip", description = "go on without its result" },
      { id = "fail", label = "fail", description = "count it as failed" },
    },
  }
end

---Steps that were under way when the run was interrupted; given once.
---@param policy skillrt.Policy
---@return integer[]|nil
function M.interrupted(policy)
  local list = policy.going_on
  policy.going_on = nil
  return list and #list > 0 and list or nil
end

return M
