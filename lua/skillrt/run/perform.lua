-- run/perform.lua: runs a script's own function as a step, and lets it wait.
--
-- The function lives in a coroutine; ctx.await yields a request (Lua to Lua, never across C).
-- Replies recorded before a crash are given again in order. Knows ctx, no journal and no
-- mode. Called by policy.lua.

local performed = require("skillrt.run.performed")
local context = require("skillrt.run.ctx")
local state = require("skillrt.skill.state")

local M = {}

-- A coroutine performs one function after the other, so that most steps need none of their own; one
-- that raised, or is left waiting for ever, does not come back.
local OVER = {}

local function work(perform, state_view, ctx)
  while true do
    perform, state_view, ctx = coroutine.yield(OVER, perform(state_view, ctx))
  end
end

-- An error that the step's function raised; where it is a text, with the way to it.
local function raised(step, problem)
  local failure = performed.raised(step, problem)
  if type(problem) ~= "table" or type(problem.message) ~= "string" then
    failure.traceback = debug.traceback(step.thread, failure.message)
  end
  return failure
end

local function advance(run, step, ok, first, a, b, c)
  if not ok then
    return "failed", raised(step, first)
  elseif first == context.AWAIT then
    return "await", a
  elseif first ~= OVER then
    return "failed",
      { class = "permanent", message = step.id .. ": run yielded; to wait, call ctx.await(request)" }
  end
  run.idle, step.thread = step.thread, nil
  local outcome, failure = performed.returned(step, a, b, c)
  if outcome then
    return "over", outcome
  end
  return "failed", failure
end

---Begins a step's function, or goes on with it. `reply`: what the last request came back with.
---@param run table  what ctx needs (see ctx.new), interpret(step, request, reply) -> values,
---                   prepare(step, request) -> problem?, requests?, is_same(step, number) -> boolean
---@param step skillrt.Step
---@param perform function  the action's or phase's own
---@param reply table|nil  of the request it waits for
---@return "await"|"over"|"failed" what
---@return table request_or_outcome_or_failure
function M.go_on(run, step, perform, reply)
  local what, value
  local thread, resume = step.thread, coroutine.resume -- the one that can be interrupted (limits.c)
  if not thread then
    thread, run.idle = run.idle or coroutine.create(work), nil
    step.thread, step.asked = thread, 0
    what, value = advance(run, step, resume(thread, perform, state.view(step.root), context.new(run, step)))
  else
    what, value = advance(run, step, resume(thread, run.interpret(step, step.request, reply)))
  end
  while what == "await" do
    step.asked = step.asked + 1
    step.request = value
    local known = step.replies[step.asked]
    if not known then
      return what, value
    elseif not run.is_same(step, step.asked) then
      local text = "request %d is not the one before the interruption; its recorded reply is used"
      step.notes = step.notes or {}
      step.notes[#step.notes + 1] = text:format(step.asked)
    end
    what, value = advance(run, step, resume(thread, run.interpret(step, value, known)))
  end
  return what, value
end

---Forgets a begun function, so that the next attempt starts at its beginning.
---@param step skillrt.Step
function M.forget(step)
  if step.thread then
    coroutine.close(step.thread) -- also one that raised: its to-be-closed variables are closed now
  end
  step.thread = nil
end

return M
