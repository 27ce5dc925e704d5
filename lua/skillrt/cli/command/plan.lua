-- cli/command/plan.lua: `skillrt plan PATH`: the plan that leads to a skill's goal, or the plan that a run follows.
-- Asks no agent, changes nothing.

local M = {
  name = "plan",
  looks = true,
  summary = "Shows the plan that reaches a skill's goal, or the plan that a run follows",
  description = "For a skill: the cheapest plan from its initial state, by the effects that its actions declare. For a "
    .. "run: the plan in its journal, and how far the run is. For a workflow script: the agents that it asks, in "
    .. "order, where each answers at once; TASK is its arguments.",
  arguments = { { name = "PATH", is_skill = "first",
    help = "a skill's folder, script or configuration; or the directory of a run" } },
  rest = "TASK ...",
  options = {
    { name = "set", value = "KEY=VALUE", many = true, help = "input for the skill, as for skillrt run" },
    require("skillrt.cli.trust").OPTION,
    { name = "json", help = "prints one JSON object" },
  },
}

-- The plan of a run: how many of its steps have begun.
local function of_run(dir)
  local books, message, code = require("skillrt.run.look").books(dir)
  if not books then
    return nil, message, code
  elseif not books.plan then
    return nil, dir .. ": its journal holds no plan; its strategy is not \"plan\", or no step has started", "invalid"
  end
  local plan = books.plan
  return { steps = plan.steps, cost = plan.cost, states = plan.states, because = plan.because,
    begun = math.min(#plan.steps, books.state.root.iteration_count - plan.n + 1) }
end

-- The state that a run of the skill would start with.
local function first_state(skill, input)
  local books_of = require("skillrt.run.books")
  local books = books_of.new()
  books_of.apply(books, { t = "run", run = "none", skill = skill.name, version = skill.version, mode = skill.mode,
    input = input, state = skill.state, pins = {}, context = skill.context, at = require("skillrt.core").wall_ms() })
  return books.state.root
end

local function of_skill(path, args)
  local flow, problem = require("skillrt.document.check.workflow").flow(path, args.rest)
  if flow then
    local steps = {}
    for i, agent in ipairs(flow.agents) do
      steps[i] = agent.phase and ("%s: %s"):format(agent.phase, agent.label) or agent.label
    end
    return { steps = steps, cost = #steps, states = 1 }
  elseif problem then
    return nil, problem, "invalid"
  end
  local skill, message, code = require("skillrt.document.open").see(path)
  local input
  if not skill then
    return nil, message, code
  elseif not skill.goal then
    return nil, path .. ": names no goal; a plan leads to one: goal = \"condition\"", "invalid"
  end
  input, message = require("skillrt.cli.settings").read(args.set or {})
  if input and skill.inputs then
    input, message = require("skillrt.skill.inputs").take(skill, input)
  end
  if not input then
    return nil, message, "invalid"
  end
  local planner = require("skillrt.skill.planner").new(require("skillrt.mode.plan").actions(skill), skill.goal)
  local plan, why = planner:plan(first_state(skill, input))
  if not plan then
    return nil, ("%s: %s"):format(skill.name, why), "no_plan"
  end
  return plan
end

---@param args table
---@return integer|nil code
function M.run(args)
  local output = require("skillrt.report.output")
  local is_run = require("skillrt.run.store").at(args.path):exists()
  local plan, message, code
  if is_run then
    plan, message, code = of_run(args.path)
  else
    plan, message, code = of_skill(args.path, args)
  end
  if not plan and code == "no_plan" then
    output.say("error", "skillrt: " .. message)
    return require("skillrt.cli.exit_codes").failed
  elseif not plan then
    return nil, message, code
  elseif args.json then
    local json = require("skillrt.base.json")
    plan.steps = json.array(plan.steps)
    output.write_json(plan)
    return 0
  end
  local escape = require("skillrt.base.terminal_text").escape
  for i, id in ipairs(plan.steps) do
    output.write(("%3d  %s%s\n"):format(i, escape(id), plan.begun and i <= plan.begun and "  (begun)" or ""))
  end
  output.write(("%d %s, cost %g, %d %s examined\n"):format(#plan.steps, #plan.steps == 1 and "step" or "steps",
    plan.cost, plan.states, plan.states == 1 and "state" or "states"))
  if plan.because then
    output.write("planned again: of the previous plan, " .. escape(plan.because) .. "\n")
  end
  return 0
end

return M
