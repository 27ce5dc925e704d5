-- run/ctx.lua: the second argument of a step's function: information about the step, files, and everything that the
-- function may wait for.
--
-- Times, random numbers and ids are recorded at the place where they are drawn, so that a function that runs again
-- sees the same values; its log lines are not repeated. Waiting is a yield (run/branch/execution.lua). Knows files
-- and steps, no journal. Called by steps.lua.

local combine = require("skillrt.run.branch.combine")
local core = require("skillrt.core")
local draws = require("skillrt.run.branch.draws")
local drawn = require("skillrt.base.drawn")
local execution_of = require("skillrt.run.branch.execution")
local inside_of = require("skillrt.base.privileges")
local names = require("skillrt.base.names")
local needs = require("skillrt.run.runner.needs")
local record = require("skillrt.base.record")
local people = require("skillrt.run.people")
local request_of = require("skillrt.agent.request")
local context_of = require("skillrt.run.ctx.context")
local state = require("skillrt.skill.state")
local task_of = require("skillrt.run.task")
local usage = require("skillrt.agent.usage")

local M = {}

local recorded = draws.drawn

-- The parts of a ctx by name, made when the script first asks for them: values, and functions, whose first argument
-- is hidden from scripts: { ctx, run, step, steps }. The part `inside` is for our own agents and tools
-- (base/privileges.lua).
local values, functions, inside = {}, {}, {}

M.values, M.functions = values, functions -- named as in docs/write/skills.md

-- The step of each ctx.
local step_of = setmetatable({}, { __mode = "k" })

function values.input(self)
  return self.run.books.input
end

function values.args(self)
  return self.run.args
end

function values.dir(self)
  return self.run.skill.dir
end

function values.work_dir(self)
  return self.run.store:path()
end

function values.run_id(self)
  return self.run.books.run_id
end

function values.step(self)
  return self.step.number
end

function values.id(self)
  return self.step.id
end

function values.attempt(self)
  return self.step.attempt
end

local function definition_of(self)
  return self.step.live.definition or self.steps:definition_of(self.step)
end

-- How people take part in the step.
function values.interaction(self)
  return definition_of(self).interaction or self.run.skill.interaction
end

function values.context(self)
  return context_of.of(self.step)
end

---The run's limits as they were at its start: "max_agents" and the others.
function values.limits(self)
  return state.view(self.run.skill.limits)
end

---Milliseconds since the epoch (UTC), recorded.
function functions.now(self)
  return recorded(self.step, "", core.wall_ms)
end

---Like math.random, recorded.
function functions.random(self, low, high)
  local unit = recorded(self.step, "", core.random)
  if not low then
    return unit
  elseif not high then
    low, high = 1, low
  end
  if not math.tointeger(low) or not math.tointeger(high) or low > high then
    error(("ctx.random: needs whole numbers from low to high, not %s and %s"):format(low, high), 2)
  end
  return low + math.floor(unit * (high - low + 1))
end

---A random UUID (version 4), recorded.
function functions.uuid(self)
  return recorded(self.step, "", core.uuid)
end

local function say(self, entry)
  draws.say(self.steps.journal, self.step, entry)
end

---Adds a line to the run's log.
function functions.log(self, text)
  say(self, { text = record.printable(tostring(text)) })
end

---A heading for people who watch.
function functions.phase(self, title)
  say(self, { title = record.printable(tostring(title)) })
end

---Reports usage that was not known before, by name: counted once, even if the function runs again.
function functions.used(self, used)
  local counted, problem = usage.check(used)
  if not counted then
    error("ctx.used: " .. problem, 2)
  end
  say(self, { t = "used", used = counted })
end

---Names the present place of the run: `skillrt rollback` returns to it.
function functions.checkpoint(self, name)
  if type(name) ~= "string" or name == "" or tonumber(name) or name:find("[/@%c]") then
    error("ctx.checkpoint: needs a name: no number, and nothing of / and @ in it", 2)
  end
  say(self, { t = "checkpoint", name = name })
end

-- Records of skillrt's own agents, by type: written once, even if the function runs again.
local MARKS <const> = { switch = true, compact = true, note = true }

---Events of a conversation: a switch of the tool set, a shortened conversation.
function inside.mark(self, entry)
  assert(MARKS[entry.t], "no such record")
  entry.text = entry.text and record.printable(entry.text)
  say(self, entry)
end

-- The calling execution and branch; a coroutine of the script's own has none.
local function here(self, what)
  if drawn.step ~= self.step then
    error(draws.OTHERS, 3)
  end
  local execution = self.steps:execution_of(self.step)
  local branch = execution:current()
  if not branch then
    error(("ctx.%s: call it from the function itself, not inside a coroutine of your own"):format(what), 3)
  elseif branch.state == "once" then
    error(("ctx.%s: the function of ctx.once %q must not wait"):format(what, branch.once), 3)
  end
  return execution, branch
end

-- Declares a call and waits for it.
local function wait_for(self, execution, branch, request)
  request.call = self.steps.calls:declare(execution, branch, request)
  return coroutine.yield(execution_of.WAIT)
end

-- Calls with an end of their own: for a person, a time or another skill there is no default timeout.
local TIMED <const> = { http = true, command = true, session = true, host = true }

-- A checked request; nil and what is wrong with it. Without a timeout it gets that of its action, or step_timeout.
local function checked(run, definition, request)
  local whole, problem = request_of.check(request, run.functions)
  if whole and whole.kind == "host" and run.functions[whole.name] == nil then
    problem = ("function %s: %s"):format(whole.name, needs.problem(whole.name, run.functions))
  elseif whole and not whole.timeout and TIMED[whole.kind] then
    whole.timeout = run.limits:seconds_of(definition)
  end
  return whole, problem
end

-- The agent that a request names, or nil and why there is none.
local function agent_of(run, named)
  if type(named) == "table" then
    return require("skillrt.agent").check(named, "agent")
  end
  local agent = run.skill.agents[named]
  return agent, not agent and ("agent %q is not declared"):format(tostring(named)) or nil
end

-- Gives the work to an agent, in the calling branch.
local function by_agent(self, agent, definition, request)
  local outcome, message, class = agent:perform(self.ctx, task_of.new(self.run, self.step, definition, request))
  if outcome then
    outcome.ours = nil -- a function of the script has it now
  end
  return outcome, message, class
end

-- Waits for a call, for a function of this name; the level of who called it is for errors.
local function wait_for_call(self, request, what, level)
  local execution, branch = here(self, what)
  local call, problem = checked(self.run, definition_of(self), request)
  if problem then
    error(("ctx.%s: %s"):format(what, problem), level)
  elseif branch.state ~= "approved" and values.interaction(self) == "interactive" and people.needs_leave(call) then
    local ok, message, class = people.leave(self.ctx, self.step, call)
    if not ok then
      return nil, message, class, { status = class }
    end
  end
  self.steps.calls:declare(execution, branch, call)
  return coroutine.yield(execution_of.WAIT)
end

-- Waits for a call, or for an agent's work.
local function await(self, request, what, level)
  if type(request) ~= "table" then
    error(("ctx.%s: needs a request (a table), not %s"):format(what, names.show(request)), level)
  elseif not request.agent then
    return wait_for_call(self, request, what, level)
  end
  here(self, what)
  local agent, problem = agent_of(self.run, request.agent)
  if problem then
    error(("ctx.%s: %s"):format(what, problem), level)
  end
  return by_agent(self, agent, definition_of(self), request)
end

---Waits for a call, or for an agent's work: returns its reply; or nil, message, class, reply.
function functions.await(self, request)
  return await(self, request, "await", 2)
end

---How much of a usage counter was used, and its limit; recorded.
function functions.budget(self, name)
  if type(name) ~= "string" then
    error('ctx.budget: needs the name of a counter, such as "tokens", not ' .. names.show(name), 2)
  end
  local limit = self.run.skill.limits.usage
  local spent = recorded(self.step, "b", function()
    return self.run.books.spent["usage." .. name] or 0
  end)
  return { spent = spent, total = limit and limit[name] }
end

---A prompt to an agent: its answer as a text, or as a value that fits options.schema; or nil, message, class.
function functions.agent(self, prompt, options)
  here(self, "agent")
  return require("skillrt.run.ctx.agent").perform(self.run, self.step, definition_of(self), self.ctx, prompt, options)
end

-- Calls without a reply from outside, by the field that may be given alone: sleep(seconds), ask("Continue?"),
-- wait("built").
local WAITS <const> = {
  sleep = { kind = "sleep", field = "seconds" },
  sleep_until = { kind = "sleep", field = "until_" },
  ask = { kind = "ask", field = "question" },
  wait = { kind = "wait", field = "event" },
}
for name, wait in pairs(WAITS) do
  functions[name] = function(self, given)
    local request = {}
    for key, value in pairs(type(given) == "table" and given or { [wait.field] = given }) do
      request[key] = value
    end
    request.kind = wait.kind
    return wait_for_call(self, request, name, 2)
  end
end

---A person's approval of exact arguments: true; or nil, message, "denied".
function functions.approve(self, given)
  local _, branch = here(self, "approve")
  local approved, message, class = require("skillrt.run.approval").ask(self.ctx, given)
  if approved then
    branch:approve()
  end
  return approved, message, class
end

---The value of a local function, recorded: it is not run again.
function functions.once(self, name, fn)
  if type(name) ~= "string" or type(fn) ~= "function" then
    error("ctx.once: needs a name and a function", 2)
  end
  local execution, branch = here(self, "once")
  return require("skillrt.run.call.kind.once").perform(execution, branch, name, fn)
end

---The result of a tool that an agent called, recorded; `use` names it (run/call/kind/tool.lua).
function inside.use(self, use, fn)
  local execution, branch = here(self, "use")
  return require("skillrt.run.call.kind.tool").perform(execution, branch, use, fn)
end

-- Combinators: called with the execution, the branch and these.
for _, name in ipairs({ "all", "pipeline", "gather", "first", "loop", "spawn" }) do
  local combinator = combine[name]
  functions[name] = function(self, ...)
    local execution, branch = here(self, name)
    return combinator(execution, branch, ...)
  end
end

function functions.map(self, list, fn, options)
  local execution, branch = here(self, "map")
  return combine.map(execution, branch, list, fn, options, "map")
end

---Each request once: the replies, in the order of the requests.
function functions.await_all(self, requests, options)
  local execution, branch = here(self, "await_all")
  return combine.map(execution, branch, requests, function(request)
    return await(self, request, "await_all", 0)
  end, options, "await_all")
end

---Waits for another skill's run: returns its result; or nil, message, class, its result. With { queue = NAME } it is a
---run of its own, which a worker performs, if workers perform this one.
function functions.run(self, skill, input, options)
  local execution, branch = here(self, "run")
  local calls, child = self.steps.calls, require("skillrt.run.call.kind.child")
  local request, problem = require("skillrt.run.call.kind.run").request(skill, input)
  local is_child, wrong = child.is_meant(calls, options)
  if not request or is_child == nil then
    error("ctx.run: " .. (problem or wrong), 2)
  end
  if not is_child then
    return wait_for(self, execution, branch, request)
  end
  local reply, message, class = wait_for(self, execution, branch, child.submission(calls, request, options.queue))
  if not reply then
    return nil, message, class
  end
  return child.given(wait_for(self, execution, branch, child.request(reply.value)))
end

---Sends an event to a run next to this one: true; or nil, message, class.
function functions.emit(self, name, event, value)
  local execution, branch = here(self, "emit")
  local request, problem = require("skillrt.run.ctx.emit").request(self.steps.calls, name, event, value)
  if not request then
    error("ctx.emit: " .. problem, 2)
  end
  local reply, message, class = wait_for(self, execution, branch, request)
  return reply and reply.value, message, class
end

---The result of a function, if it comes within the given seconds.
function functions.within(self, seconds, fn)
  if type(seconds) ~= "number" or seconds < 0 or type(fn) ~= "function" then
    error("ctx.within: needs seconds and a function", 2)
  end
  local execution, branch = here(self, "within")
  return combine.within(execution, branch, seconds, fn, function()
    return self.ctx.sleep(seconds)
  end)
end

for name, fn in pairs(require("skillrt.run.ctx.files")) do
  functions[name] = fn
end

-- Tools and servers, loaded on first use.
for _, name in ipairs({ "tool", "mcp" }) do
  functions[name] = function(...)
    return require("skillrt.run.ctx.tools")[name](...)
  end
end

---Where the calling branch is: the place of its last call.
function inside.place(self)
  return (draws.place_of(self.step))
end

---The result of a function, recorded with the next record: a replay gives it back.
function inside.drawn(self, make)
  return recorded(self.step, "", make)
end

---The ctx of a step.
---@param face table  see `face`
---@param step skillrt.Step
---@return table ctx
function M.new(face, step)
  local ctx = setmetatable({}, face)
  step_of[ctx] = step
  return ctx
end

---How a ctx finds its parts; made once for a run.
---@param run skillrt.Run
---@param steps skillrt.Steps
---@return table
function M.face(run, steps)
  local function part_of(from, ctx, name)
    local self = { ctx = ctx, run = run, step = step_of[ctx], steps = steps }
    local fn = from[name]
    if fn then
      return function(...) return fn(self, ...) end
    end
    local value = values[name]
    return value and value(self)
  end
  return {
    __index = function(ctx, name)
      if name == inside_of.KEY then
        return setmetatable({}, { __index = function(_, which) return part_of(inside, ctx, which) end })
      end
      local part = part_of(functions, ctx, name)
      if part ~= nil then
        rawset(ctx, name, part)
      end
      return part
    end,
    __name = "ctx",
    __metatable = "ctx",
  }
end

return M
