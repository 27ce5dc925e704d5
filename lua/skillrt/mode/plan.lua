-- mode/plan.lua: the strategy `plan`: takes the next step of a plan that leads to the skill's goal, and plans again
-- when the plan no longer leads there.
--
-- Reads the books, changes nothing in them: a plan is recorded with the step that it begins with. Called by
-- autonomous.lua for skills that have a goal.

local planner_of = require("skillrt.skill.planner")

local M = {}

local ABORT <const> = "action-abort"

---The actions that a plan may consist of.
---@param skill table
---@return skillrt.Action[]
function M.actions(skill)
  local list = {}
  for _, one in ipairs(skill.actions) do
    list[#list + 1] = not one.handles and one.id ~= ABORT and one or nil
  end
  return list
end

-- How often an action has run; one that was given up never runs again.
local function runs_of(books)
  return function(id)
    return books.given_up[id] and math.huge or books.runs[id] or 0
  end
end

-- The next step of the present plan; or nil, and why the plan does not lead to the goal.
local function followed(planner, mode)
  local plan, root = mode.books.plan, mode.books.state.root
  if not plan then
    return nil
  end
  local at = root.iteration_count - plan.n + 2
  if at > #plan.steps then
    return nil, nil, "it is finished, but the goal is not reached"
  end
  local leads, id = planner:leads(root, plan.steps, at)
  if leads and mode.available:get(plan.steps[at]) then
    return plan.steps[at], ("step %d of %d"):format(at, #plan.steps)
  end
  return nil, nil, id and id .. " may not run in the present state" or "the rest of it does not lead to the goal"
end

---@param mode skillrt.Autonomous
---@return fun(): string?, any  the next step and why; or nil and how the run ends
function M.of(mode)
  local planner
  return function()
    planner = planner or planner_of.new(M.actions(mode.skill), mode.skill.goal)
    local id, why, because = followed(planner, mode)
    if id then
      return id, why
    end
    local root = mode.books.state.root
    local plan, problem = planner:plan(root, runs_of(mode.books))
    if not plan then
      return nil, { stop = "no_plan", message = problem }
    elseif not mode.available:get(plan.steps[1] or "") then
      return nil, { stop = "no_plan", message = ("%s is next, and may not run now"):format(plan.steps[1] or "nothing") }
    end
    mode.made = { steps = plan.steps, cost = plan.cost, states = plan.states, n = root.iteration_count + 1,
      because = because }
    return plan.steps[1], ("%s of %d steps, cost %g: %s%s"):format(because and "a new plan" or "a plan", #plan.steps,
      plan.cost, table.concat(plan.steps, ", "), because and "; the previous plan: " .. because or "")
  end
end

return M
