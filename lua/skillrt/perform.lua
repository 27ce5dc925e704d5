-- perform.lua: runs a script's own function as a step, and lets it wait.
--
-- The function lives in a coroutine; ctx.await yields a request (Lua to Lua, never across C).
-- Replies recorded before a crash are given again in order. Knows ctx, no journal and no
-- mode. Called by policy.lua.

local context = require("skillrt.ctx")
local fatal = require("skillrt.fatal")
local state = require("skillrt.state")

local M = {}

-- A coroutine performs one function after the other, so that most steps need none of their own; one
-- that raised, or is left waiting for ever, does not come back.
local OVER = {}

local function work(perform, state_view, ctx)
  while true do
    perform, state_view, ctx = coroutine.yield(OVER, perform(state_view, ctx))
  end
end

local FAILURE_CLASSES = {
  transient = true,
  rate_limit = true,
  timeout = true,
  invalid_output = true,
  permanent = true,
}

-- An error raised by the function: a text gets a traceback, a table may name its class.
local function raised(step, problem)
  fatal.pass_on(problem) -- from outside: not the function's failure
  if type(problem) == "table" and type(problem.message) == "string" then
    local class = FAILURE_CLASSES[problem.class] and problem.class or problem.code
    return { class = FAILURE_CLASSES[class] and class or "permanent", message = problem.message }
  end
  local ok, text = pcall(tostring, problem)
  text = type(problem) == "string" and problem
    or ("%s raised an error object: %s"):format(step.id, ok and text or type(problem))
  return { class = "permanent", message = text, traceback = debug.traceback(step.thread, text) }
end

-- What the function returned, as an outcome or a failure.
local function returned(step, first, second, third)
  if first == nil and type(second) == "string" then
    return nil, { class = FAILURE_CLASSES[third] and third or "permanent", message = second }
  end
  if step.kind == "phase" then
    return { status = "completed", output = first, updates = second }
  end
  if first ~= nil and type(first) ~= "table" then
    return nil,
      {
        class = "invalid_output",
        message = ("%s: run must return a table of updates or nothing, not a %s"):format(
          step.id,
          type(first)
        ),
      }
  end
  return { status = "completed", updates = first or {}, plain = true }
end

local function advance(run, step, ok, first, ...)
  if not ok then
    return "failed", raised(step, first)
  elseif first == context.AWAIT then
    return "await", (...)
  elseif first ~= OVER then
    return "failed",
      { class = "permanent", message = step.id .. ": run yielded; to wait, call ctx.await(request)" }
  end
  run.idle, step.thread = step.thread, nil
  local outcome, failure = returned(step, ...)
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
