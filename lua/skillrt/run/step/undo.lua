-- run/step/undo.lua: compensation: when a run is aborted, undoes completed actions and phases in reverse order, each
-- once, by steps of their own (docs/write/protocol.md, "Undoing").
--
-- The books hold that a run is being aborted, and what is left to undo; an undo is a normal step, so a crash loses
-- and repeats none of it. A step that was under way is cleaned up the same way. Called by scheduler.lua and
-- steps.lua.

local state = require("skillrt.skill.state")

local M = {}

local PREFIX <const>, CLEANUP <const> = "undo-", "cleanup-"

-- Information about the undone step, for functions that undo.
local function undone_by(steps, number)
  local step = steps.books.steps[number]
  for _, one in ipairs(steps.books.undo or {}) do
    if step and one.step == step.undoes then
      return one
    end
  end
end

-- Asks for approval first if people take part; without it nothing is undone.
local function ask_first(steps, one)
  if (one.interaction or steps.run.skill.interaction) ~= "interactive" then
    return nil
  end
  return function(_, ctx)
    local done = undone_by(steps, ctx.step)
    local ok, message = ctx.approve({ what = ("undo %s"):format(one.id),
      arguments = { action = one.id, step = done.step, updates = done.set } })
    if not ok then
      return nil, message, "skipped"
    end
  end
end

-- The function that undoes, for one of the script's.
local function by_function(steps, fn)
  return function(view, ctx)
    local done = undone_by(steps, ctx.step)
    return fn(view, ctx, { id = done.id, step = done.step, updates = state.view(done.set or {}) })
  end
end

-- The function that cleans up after a step that was given up.
local function cleaning(fn)
  return function(view, ctx)
    fn(view, ctx, { status = "failed", class = "canceled", message = "the run is being aborted" })
  end
end

local function declared(skill, id)
  for _, list in ipairs({ skill.actions, skill.phases }) do
    for _, one in ipairs(list) do
      if one.id == id then
        return one
      end
    end
  end
end

---The definition of the step that undoes or cleans up; nil: there is none of this name.
---@param steps skillrt.Steps
---@param id string  "undo-" or "cleanup-", and the action's or phase's id
---@return skillrt.Action|nil
function M.definition(steps, id)
  local skill, cleans = steps.run.skill, id:sub(1, #CLEANUP) == CLEANUP
  local one = (cleans or id:sub(1, #PREFIX) == PREFIX) and declared(skill, id:sub(#(cleans and CLEANUP or PREFIX) + 1))
  if not one or not one[cleans and "cleanup" or "undo"] then
    return nil
  end
  local by = not cleans and type(one.undo) == "string" and declared(skill, one.undo) or nil
  local own = { id = id, name = id, kind = "action", undo = false, protocol = true, terminal = false,
    prepare = not cleans and ask_first(steps, one) or nil,
    max_runs = math.huge, on_error = "skip", max_errors = false, each = false,
    alternative = false }
  if by then
    own.cleanup = by.cleanup or false
    return setmetatable(own, { __index = by })
  end
  own.run = cleans and cleaning(one.cleanup) or by_function(steps, one.undo)
  own.effects, own.when, own.priority, own.idempotent = {}, {}, 0, true
  own.max_errors, own.each, own.alternative = nil, nil, nil
  return own
end

---The run is about to end as aborted: undoes first what it did. True: there is something to undo.
---@param scheduler skillrt.Scheduler
---@param kind string
---@param status any
---@param reason string?
---@param message string?
---@return boolean
function M.begins(scheduler, kind, status, reason, message)
  local books = scheduler.books
  if kind ~= "stop" or status ~= "aborted" or books.abort or not (books.undo and books.undo[1]) then
    return false
  end
  assert(scheduler.journal:emit({ t = "abort", sub = books.sub, reason = reason, message = message }))
  return true
end

---The next step of a run that is being aborted, or its end.
---@param scheduler skillrt.Scheduler
---@return "wait"|"stop" kind
---@return string? status
---@return string? reason
---@return string? message
function M.choose(scheduler)
  local books, steps = scheduler.books, scheduler.steps
  local abort, list = books.abort, books.undo or {}
  local newest = list[#list]
  while newest do
    local definition = M.definition(steps, (newest.cleanup and CLEANUP or PREFIX) .. newest.id)
    if definition then
      steps:go(steps:start(definition, { undo = newest.step }))
      return "wait"
    end
    assert(scheduler.journal:emit({ t = "abort", sub = books.sub, gone = newest.step }))
    newest = list[#list]
  end
  local left = abort.left and "not undone: " .. table.concat(abort.left, ", ")
  local message = abort.message and left and abort.message .. "; " .. left or abort.message or left
  return "stop", "aborted", abort.reason, message
end

return M
