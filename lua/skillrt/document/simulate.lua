-- document/simulate.lua: the possible outcomes of a run of a skill, without executing it: its fewest and most steps,
-- the worst case of calls, tokens and money, its possible ends, and conditions that no run can meet.
--
-- Follows the states defined by preconditions, declared effects and a machine's table, like the check; calls of
-- functions are unknown. Called by cli/command/simulate.lua.
local check = require "skillrt.document.check"
local worst = require "skillrt.document.simulate.worst"
local model_of = require "skillrt.document.check.model"
local rounds_of = require "skillrt.skill.rounds"
local search = require "skillrt.document.check.reach.search"
local space_of = require "skillrt.document.check.reach.space"
local tables = require "skillrt.base.tables"
local workflow = require "skillrt.document.check.workflow"

local M = {}

---@class skillrt.Simulation
---@field ends table<string, string[]>  by status: the shortest path to it; "blocked" is one
---@field least string[]?     the shortest path to the end; nil: none completes
---@field most integer        maximal number of steps
---@field rounds boolean      it may repeat: `most` is the limit of steps
---@field worst { calls: number?, tokens: number?, dollars: number? }  nil: no bound
---@field unknown string[]    actions and phases with unknown calls: functions, other skills
---@field unmet string[]      conditions that nothing can make true, and what never runs
---@field states integer      how many were visited
---@field complete boolean    all were visited

-- The last step if a terminal action ends the run: the path leads to the state in which it is taken.
local function with_last(result, at, status)
  local ids = result:path(at)
  for _, i in ipairs((result:open(at))) do
    local action = result.space.steps[i].action
    if action.terminal == status then
      ids[#ids + 1] = action.id
      break
    end
  end
  return ids
end

-- A workflow script: its flow is code, so only what it asks in a dry run is known, and its limit.
local function of_script(flow)
  local labels = tables.column(flow.agents, "label")
  return { ends = { completed = labels }, least = labels, unmet = {}, states = 1, complete = false, most = flow.most,
    rounds = true, unknown = { "its agents" },
    worst = { calls = flow.most, tokens = 0, dollars = 0, limited = { calls = flow.most } } }
end

-- Phases after the loop, or, for a skill without actions, all of them.
local function add_phases(out, model)
  local least, every = {}, 0
  local times = rounds_of.times(model.phases, model.rounds, model.limits.max_iterations)
  for _, phase in ipairs(model.phases) do
    every = every + times[phase.id]
    if #model.actions == 0 or phase.trailing then -- a leading phase that cannot be skipped is part of the path
      least[#least + 1] = #phase.when == 0 and phase.id or nil
    end
  end
  if #model.actions == 0 then
    out.least, out.ends = least, { completed = least }
  elseif out.least then
    table.move(least, 1, #least, #out.least + 1, out.least)
  end
  return #model.actions == 0 and math.min(every, model.limits.max_iterations) or every
end

local TOLD <const> = tables.words "reach.never reach.goal reach.blocked reach.unset machine.unreachable"

local function unmet_of(given)
  local list, result = {}, check.check(given)
  for _, one in ipairs(result and result.findings or {}) do
    list[#list + 1] = TOLD[one.code] and one.what or nil
  end
  return list
end

---@param given string|table  a path, a definition or a skill
---@return skillrt.Simulation? simulation
---@return string? message
---@return string? code
function M.of(given, words)
  local flow, problem = workflow.flow(given, words)
  if flow then
    return of_script(flow)
  elseif problem then
    return nil, problem, "invalid"
  end
  local model, subject, code = model_of.at(given)
  if not model then
    return nil, subject --[[@as string]], code
  end
  local result = search.run(space_of.of(model))
  local out = { ends = {}, unmet = unmet_of(given), states = result.looked, complete = result.complete }
  for status, at in pairs(result.ends) do
    out.ends[status] = with_last(result, at, status)
  end
  if result.blocked_at then
    out.ends.blocked = result:path(result.blocked_at)
  end
  out.least = out.ends.completed
  local phases = add_phases(out, model)
  local most = worst.of(result, subject.definition, model)
  out.most, out.rounds, out.worst, out.unknown = most.steps + phases, most.rounds, most, most.unknown
  return out
end

return M
