-- run/step/lifecycle.lua: a step of the execution protocol: prepared, executed, validated, repaired if a check
-- refused it, and always cleaned up (docs/write/protocol.md).
--
-- A function over ctx around the one that does the work: everything it waits for is a call of the step, so a crash
-- loses none of it. Used only for actions that ask for it. Part of steps.lua.

local draws = require("skillrt.run.branch.draws")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local outcome_of = require("skillrt.run.outcome")
local function_result = require("skillrt.agent.function_result")
local people = require("skillrt.run.people")
local retry = require("skillrt.skill.retry")
local state = require("skillrt.skill.state")

local M = {}

---@class skillrt.Round  one step on its way
---@field run table
---@field steps skillrt.Steps
---@field step skillrt.Step
---@field definition skillrt.Action
---@field view table  the state
---@field ctx table

-- Reports the lifecycle's word for the step, once, even if the function runs again (F38, F68: the run's status is
-- unchanged).
local function stage(self, word)
  draws.say(self.steps.journal, self.step, { t = "stage", stage = word })
end

-- Calls a function of the skill; an error it raises is a failure like one that it returns.
local function try(self, fn, ...)
  local trace
  local values = table.pack(xpcall(fn, function(problem)
    trace = type(problem) == "string" and debug.traceback(problem, 2) or nil
    return problem
  end, ...))
  if not values[1] then
    local failure = function_result.failure(self.step.id, values[2])
    failure.traceback, failure.thrown = trace, true
    return nil, failure
  end
  return table.unpack(values, 2, values.n)
end

local function failure_of(message, class)
  if type(message) == "table" and message.message then
    return message
  end
  return { message = message, class = class or "permanent" }
end

-- The work itself: an outcome, or nil and its failure.
local function work(self, perform, by_agent, ...)
  local first, second, third = try(self, perform, self.view, self.ctx, ...)
  if first == nil and type(second) == "table" and second.thrown then
    return nil, second
  elseif not by_agent then
    first, second, third = function_result.outcome(self.step.kind, self.step.id .. ": run", first, second, third)
  end
  if first == nil and second ~= nil then
    return nil, failure_of(second, third)
  end
  return first or { status = "completed" }
end

-- An alternative source of the same thing: a function, or another agent.
local function of_source(self, source)
  if type(source) == "function" then
    return source, false
  end
  return self.steps:by_agent(self.step, self.definition, source), true
end

-- The work; if it fails for lack of context, the alternative sources in order (R145).
local function execute(self, perform, by_agent, ...)
  local outcome, failure = work(self, perform, by_agent, ...)
  for i, source in ipairs(self.definition.sources or {}) do
    if outcome or retry.plain(failure.class) ~= "context" then
      break
    end
    self.ctx.log(("%s; collected again from %s"):format(failure.message,
      type(source) == "string" and source or ("source %d"):format(i)))
    outcome, failure = work(self, of_source(self, source))
  end
  return outcome, failure
end

-- What checks look at: an action's updates, a phase's output.
local function result_of(self, outcome)
  if self.step.kind == "phase" then
    return outcome.output
  end
  return outcome.updates or {}
end

local VERDICT <const> = {
  type = "object",
  properties = { valid = { type = "boolean" }, problem = { type = "string" } },
  required = json.array({ "valid" }),
}

-- Another agent judges; nil: it accepts.
local function judged(self, result)
  local validate = self.definition.validate
  local prompt = require("skillrt.agent.prompt")
  local text = ("%s\n\n%s\n\n%s"):format(validate.prompt or "Check the result below against what was asked for.",
    "What was asked for: " .. (self.definition.purpose or self.definition.description or self.definition.name),
    prompt.untrusted(assert(json.encode(result, { indent = 2, sorted = true })), "RESULT"))
  local verdict, message, class = self.ctx.agent(text, { agent = validate.agent, schema = VERDICT,
    label = "validates " .. self.step.id })
  if not verdict then
    return nil, { message = "could not be validated: " .. message, class = class }
  end
  return not verdict.valid and (verdict.problem or "the checking agent rejected it") or nil
end

-- What is wrong with a result; or nil and a failure of the check itself.
local function problem_of(self, outcome)
  local validate, result = self.definition.validate, result_of(self, outcome)
  if not validate then
    return nil
  end
  if validate.schema then
    local ok, why = require("skillrt.base.json_schema").judge(validate.schema, result == nil and json.null or result)
    if not ok then
      return why
    end
  end
  if validate.effects then
    local broken = outcome_of.broken_effects(self.definition, self.step.root,
      outcome_of.preview(self.step.root, outcome.updates or {}))
    if broken then
      return "its declared effects are not true: " .. table.concat(broken, ", ")
    end
  end
  if validate.check then
    local ok, why = try(self, validate.check, result, self.view, self.ctx)
    if type(why) == "table" then
      return nil, failure_of(why)
    elseif ok == nil and why == nil then
      return nil, { class = "permanent",
        message = self.step.id .. ": validate must return true, or false and what is wrong" }
    elseif not ok then
      return type(why) == "string" and why or "its check refused it"
    end
  end
  if validate.agent then
    return judged(self, result)
  end
end

-- Executes and validates; a result that a check refused is requested again, with the problem (R146, R159).
local function worked(self, perform, by_agent, ...)
  local ctx, most = self.ctx, self.definition.repair or 0
  for round = 0, most do
    local outcome, failure = execute(self, perform, by_agent, ...)
    local problem
    if outcome then
      stage(self, "validating")
      problem, failure = problem_of(self, outcome)
      if not problem and not failure then
        return outcome
      end
    elseif retry.plain(failure.class) == "validation" then
      problem = failure.message
    end
    if not problem then
      return nil, failure
    elseif round == most then
      local after = most > 0 and (" (after %d %s)"):format(most, most == 1 and "repair" or "repairs") or ""
      return nil, { class = "validation", message = ("not valid: %s%s"):format(problem, after) }
    end
    ctx.log(("not valid: %s; repair %d of %d"):format(problem, round + 1, most))
    ctx.repair = { round = round + 1, problem = problem, result = outcome and result_of(self, outcome) or nil }
    stage(self, "executing")
  end
end

-- Calls of `cleanup` may be repeated: they leave nothing that disturbs another attempt.
local function harmless(ctx)
  return setmetatable({
    await = function(request)
      local own = {}
      for key, value in pairs(request) do
        own[key] = value
      end
      if own.idempotent == nil and not own.agent and own.kind ~= "ask" and own.kind ~= "wait" then
        own.idempotent = true
      end
      return ctx.await(own)
    end,
  }, { __index = ctx })
end

local function clean_up(self, outcome, failure)
  local cleanup = self.definition.cleanup
  if cleanup then
    local ended = outcome and { status = "completed", updates = state.view(outcome.updates or {}) }
      or { status = "failed", message = failure.message, class = failure.class }
    local _, problem = try(self, cleanup, self.view, harmless(self.ctx), ended)
    if problem ~= nil then
      local text = type(problem) == "table" and problem.message or problem
      self.ctx.log("cleanup failed: " .. (type(text) == "string" and text or names.show(text)))
    end
  end
end

local function prepared(self)
  local prepare = self.definition.prepare
  if not prepare then
    return true
  end
  local ok, problem, class = try(self, prepare, self.view, self.ctx)
  if problem == nil and ok ~= false then
    return true
  end
  local failure = failure_of(problem or "is not prepared", class)
  failure.message = "preparing: " .. failure.message
  return nil, failure
end

---A function that performs a step of the protocol.
---@param steps skillrt.Steps
---@param step skillrt.Step
---@param definition skillrt.Action
---@param perform function   the work
---@param by_agent boolean   it returns an outcome
---@return fun(view: table, ctx: table, ...: any): skillrt.Outcome|nil, table|nil
function M.over(steps, step, definition, perform, by_agent)
  return function(view, ctx, ...)
    local self = { run = steps.run, steps = steps, step = step, definition = definition, view = view, ctx = ctx }
    stage(self, "preparing")
    local outcome
    local ok, failure = prepared(self)
    if ok then
      stage(self, "executing")
      outcome, failure = worked(self, perform, by_agent, ...)
    end
    local main = step.live.execution and step.live.execution.main
    if failure and main then
      failure.seen = { last = main.last, failed = main.failed } -- not the calls of the cleanup
    end
    clean_up(self, outcome, failure)
    if outcome then
      outcome.ours = nil -- the skill's functions read it
    end
    if definition.supervised then
      people.tell(self, outcome, failure)
    end
    return outcome, failure
  end
end

return M
