-- run/questions.lua: what is asked about calls in doubt: first of the skill's on_indoubt, then of a person.
--
-- Knows calls; how a question is shown knows report/question.lua. Called by policy.lua.

local fatal = require("skillrt.base.fatal")
local names = require("skillrt.base.names")

local M = {}

local CHOICES <const> = { retry = true, skip = true, fail = true, ask = true }

-- What a function of the skill is told about a call.
local function described(call)
  local step = call.step
  return {
    id = step.id,
    step = step.number,
    attempt = step.attempt,
    call = call.place,
    to = call.to,
    message = call.doubt,
  }
end

local function note(policy, step, text)
  assert(policy:emit({ t = "note", step = step and step.number, text = policy.steps.printable(text) }))
end

-- The skill's own choices, one for each call: a function is given the list and gives one word for all, or
-- a list of words.
local function choices(policy, list)
  local choice = policy.run.skill.on_indoubt
  if type(choice) ~= "function" then
    return choice
  end
  local told = {}
  for i, call in ipairs(list) do
    told[i] = described(call)
  end
  for key, value in pairs(told[1]) do -- of a single one its fields stand in the list itself
    told[key] = value
  end
  local ok, said = pcall(choice, told)
  if not ok then
    fatal.pass_on(said)
    note(policy, list[1].step, "on_indoubt failed: " .. names.show(said))
    return "ask"
  end
  return said
end

---Asks the skill about calls it was not asked about yet.
---@param policy skillrt.Policy
function M.decide(policy)
  local new, calls = {}, policy.calls
  for _, call in ipairs(calls.doubts) do
    if not call.asked_skill then
      call.asked_skill = true
      new[#new + 1] = call
    end
  end
  if #new == 0 then
    return
  end
  local said = choices(policy, new)
  local left = {}
  for _, call in ipairs(calls.doubts) do
    local at
    for i, one in ipairs(new) do
      at = one == call and i or at
    end
    local choice = at and (type(said) == "table" and said[at] or said) or "ask"
    if not CHOICES[choice] then
      local text = 'on_indoubt gave %s; it must give "retry", "skip", "fail" or "ask"'
      note(policy, call.step, text:format(names.show(choice)))
      choice = "ask"
    end
    if choice == "ask" then
      left[#left + 1] = call
    else
      calls:decide(call, choice)
      if call.step.execution then
        policy.steps:go_on(call.step)
      end
    end
  end
  calls.doubts = left
end

---The question about a call in doubt.
---@param call skillrt.Call
---@param count integer  how many there are
---@return table question
function M.of_doubt(call, count)
  local more = count > 1 and (" (%d more after this one)"):format(count - 1) or ""
  return {
    step = call.step.number,
    c = call.place,
    header = "In doubt",
    question = ("%s: its request to %s may have been executed: %s. Send it again?%s"):format(call.step.id, call.to,
      call.doubt, more),
    options = {
      { id = "retry", label = "retry", description = "send it again with the same idempotency key" },
      { id = "skip", label = "skip", description = "go on without its result" },
      { id = "fail", label = "fail", description = "count it as failed" },
    },
  }
end

return M
