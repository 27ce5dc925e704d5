-- run/call/kind/ask.lua: a question to a person. Found by its name; run/questions.lua calls `answered`.

local alarm = require("skillrt.run.call.alarm")
local core = require("skillrt.core")
local soft_deadline = require("skillrt.run.call.soft_deadline")

---@class skillrt.call.Ask: skillrt.CallKind
local M = { asks = true, give_up = alarm.give_up }

function M.begin(calls, call)
  local request, run = call.request, calls.run
  local open = alarm.ask(calls, call, {
    q = (run.books.asked or 0) + 1,
    question = request.question,
    nonce = core.uuid():sub(1, 8),
  }, alarm.ends_at(request.timeout))
  alarm.set(calls, call, open, request.timeout)
end
M.take_up = M.begin

---A person answered.
---@param calls skillrt.Calls
---@param call skillrt.Call
---@param answer table  { value, arrival }
function M.answered(calls, call, answer)
  local open = call:open()
  soft_deadline.answered(calls, call.step, open.at)
  calls:settle(call, { q = open.q, value = answer.value, arrival = answer.arrival,
    approval = call.request.question.approval })
end

function M.rang(calls, call)
  local open, question = call:open(), call.request.question
  soft_deadline.answered(calls, call.step, open.at)
  if question.default ~= nil then
    return calls:settle(call, { q = open.q, value = question.default, unanswered = true })
  end
  local text = ("no answer within %g seconds: %s"):format(call.request.timeout, question.question)
  calls:settle(call, { q = open.q, failed = { class = "timeout", message = text } })
end

function M.value(_, entry)
  return entry.value
end

return M
