-- run/ctx.lua: what a function is given as its second argument: where it is, what it may read and write,
-- and all that it may wait for.
--
-- Times, random numbers and ids are recorded at the place where they are drawn, so that a function that
-- runs again sees what it saw before; lines it said are not said again. Waiting is a yield (run/branch/execution.lua).
-- Knows files and steps, no journal. Used by steps.lua.

local awaited = require("skillrt.run.ctx.awaited")
local combine = require("skillrt.run.branch.combine")
local draws = require("skillrt.run.branch.draws")
local drawn = require("skillrt.base.drawn")
local execution_of = require("skillrt.run.branch.execution")
local inside_of = require("skillrt.base.privileges")
local record = require("skillrt.base.record")
local people = require("skillrt.run.people")
local shared = require("skillrt.run.ctx.shared")
local state = require("skillrt.skill.state")
local usage = require("skillrt.agent.usage")

local M = {}

-- The step of a ctx, where no script finds it.
local step_of = setmetatable({}, { __mode = "k" })

local place_of, recorded = draws.place_of, draws.drawn

-- Each part of a ctx, made when the script first asks for it: most steps ask for few. What is `inside` is for our own
-- agents and tools (base/privileges.lua).
local parts, inside = {}, {}

M.parts = parts -- their names are those that docs/scripting.md has

function parts.input(run)
  return run.books.input
end

function parts.args(run)
  return run.args
end

function parts.dir(run)
  return run.skill.dir
end

function parts.work_dir(run)
  return run.store:path()
end

function parts.run_id(run)
  return run.books.run_id
end

function parts.step(_, step)
  return step.number
end

function parts.id(_, step)
  return step.id
end

function parts.attempt(_, step)
  return step.attempt
end

function parts.interaction(run, step, _, steps)
  return people.of(run.skill, steps:definition_of(step))
end

function parts.context(_, step)
  return shared.of(step)
end

---Milliseconds since the epoch (UTC), recorded.
function parts.now(run, step)
  return function()
    return recorded(step, "", run.core.wall_ms)
  end
end

---Like math.random, recorded.
function parts.random(run, step)
  return function(low, high)
    local unit = recorded(step, "", run.core.random)
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
end

---A random UUID (version 4), recorded.
function parts.uuid(run, step)
  return function()
    return recorded(step, "", run.core.uuid)
  end
end

---A line for the log of the run.
function parts.log(_, step, _, steps)
  return function(text)
    draws.say(steps.journal, step, { text = record.printable(tostring(text)) })
  end
end

---What calls used that was not known before, by name: counted once, whoever runs again.
function parts.used(_, step, _, steps)
  return function(used)
    local counted, problem = usage.check(used)
    if not counted then
      error("ctx.used: " .. problem, 2)
    end
    draws.say(steps.journal, step, { t = "used", used = counted })
  end
end

---Names the place where the run stands: `skillrt rollback` takes it back there.
function parts.checkpoint(_, step, _, steps)
  return function(name)
    if type(name) ~= "string" or name == "" or tonumber(name) or name:find("[/@%c]") then
      error("ctx.checkpoint: needs a name: no number, and nothing of / and @ in it", 2)
    end
    draws.say(steps.journal, step, { t = "checkpoint", name = name })
  end
end

-- Records of skillrt's own agents, by their fields: told once, whoever runs again.
local MARKS <const> = { switch = true, compact = true, note = true }

---What happened in a talk: a switch of the tool set, a talk made shorter.
function inside.mark(_, step, _, steps)
  return function(entry)
    assert(MARKS[entry.t], "no such record")
    entry.text = entry.text and record.printable(entry.text)
    draws.say(steps.journal, step, entry)
  end
end

---A heading for people who watch.
function parts.phase(_, step, _, steps)
  return function(title)
    draws.say(steps.journal, step, { title = record.printable(tostring(title)) })
  end
end

-- The execution and the branch that calls; a coroutine of the script's own is none.
local function here(steps, step, what)
  if drawn.step ~= step then
    error(draws.OTHERS, 3)
  end
  local execution = steps:execution_of(step)
  local branch = execution:current()
  if not branch then
    error(("ctx.%s: call it from the function itself, not inside a coroutine of your own"):format(what), 3)
  elseif branch.in_once then
    error(("ctx.%s: the function of ctx.once %q must not wait"):format(what, branch.in_once), 3)
  end
  return execution, branch
end

---Waits for a call, or for an agent's work: gives its reply; or nil, message, class, reply.
function parts.await(run, step, ctx, steps)
  local is_interactive = people.of(run.skill, steps:definition_of(step)) == "interactive"
  return function(request)
    if type(request) ~= "table" then
      error("ctx.await: needs a request (a table), not " .. type(request), 2)
    end
    local execution, branch = here(steps, step, "await")
    if request.agent then
      return awaited.by_agent(run, step, steps:definition_of(step), ctx, request)
    end
    local checked = awaited.checked(run, steps:definition_of(step), request)
    if is_interactive and not branch.has_leave and people.needs_leave(checked) then
      local ok, message, class = people.leave(ctx, step, checked)
      if not ok then
        return nil, message, class, { status = class }
      end
    end
    steps.calls:declare(execution, branch, checked)
    return coroutine.yield(execution_of.WAIT)
  end
end

---The run's limits, as it began with them: "max_agents" and the others.
function parts.limits(run)
  return state.view(run.skill.limits)
end

---How much of something that is counted by name was used, and the limit; recorded.
function parts.budget(run, step)
  return function(name)
    local spent = recorded(step, "b", function()
      return run.books.spent["usage." .. tostring(name)] or 0
    end)
    return { spent = spent, total = run.skill.limits.usage and run.skill.limits.usage[name] }
  end
end

---A prompt to an agent: its answer as a text, or as a value that fits options.schema; or nil, message, class.
function parts.agent(run, step, ctx, steps)
  return function(prompt, options)
    here(steps, step, "agent")
    return require("skillrt.run.ctx.prompted").perform(run, step, steps:definition_of(step), ctx, prompt, options)
  end
end

-- What waits for no reply, by the field that may stand alone: sleep(seconds), ask("Go on?"), wait("built").
local WAITS <const> = {
  sleep = { kind = "sleep", field = "seconds" },
  sleep_until = { kind = "sleep", field = "until_" },
  ask = { kind = "ask", field = "question" },
  wait = { kind = "wait", field = "event" },
}
for name, wait in pairs(WAITS) do
  parts[name] = function(_, _, ctx)
    return function(given)
      local request = {}
      for key, value in pairs(type(given) == "table" and given or { [wait.field] = given }) do
        request[key] = value
      end
      request.kind = wait.kind
      return ctx.await(request)
    end
  end
end

---Leave of a person for exact arguments: true; or nil, message, "denied".
function parts.approve(_, step, ctx, steps)
  return function(given)
    local _, branch = here(steps, step, "approve")
    local approved, message, class = require("skillrt.run.approval").ask(ctx, given)
    branch.has_leave = approved and branch.in_use or nil -- the calls of this use of a tool are what was shown
    return approved, message, class
  end
end

---What a local function gives, kept: it is not run again.
function parts.once(_, step, _, steps)
  return function(name, fn)
    if type(name) ~= "string" or type(fn) ~= "function" then
      error("ctx.once: needs a name and a function", 2)
    end
    local execution, branch = here(steps, step, "once")
    return require("skillrt.run.call.kind.once").perform(execution, branch, name, fn)
  end
end

---What a tool gives that an agent asked for, kept; `use` names it (run/call/kind/tool.lua).
function inside.use(_, step, _, steps)
  return function(use, fn)
    local execution, branch = here(steps, step, "use")
    return require("skillrt.run.call.kind.tool").perform(execution, branch, use, fn)
  end
end

-- Combinators: what each of them is called with behind the execution and the branch.
for _, name in ipairs({ "all", "pipeline", "gather", "first", "loop", "spawn" }) do
  local combinator = combine[name]
  parts[name] = function(_, step, _, steps)
    return function(...)
      local execution, branch = here(steps, step, name)
      return combinator(execution, branch, ...)
    end
  end
end

function parts.map(_, step, _, steps)
  return function(list, fn, options)
    local execution, branch = here(steps, step, "map")
    return combine.map(execution, branch, list, fn, options, "map")
  end
end

---Each request once: the replies, in the order of the requests.
function parts.await_all(_, step, ctx, steps)
  return function(requests, options)
    local execution, branch = here(steps, step, "await_all")
    return combine.map(execution, branch, requests, ctx.await, options, "await_all")
  end
end

---Waits for another skill's run: what it came to; or nil, message, class, what it came to.
function parts.run(_, step, _, steps)
  return function(skill, input)
    local execution, branch = here(steps, step, "run")
    local request, problem = require("skillrt.run.call.kind.run").request(skill, input)
    if not request then
      error("ctx.run: " .. problem, 2)
    end
    steps.calls:declare(execution, branch, request)
    return coroutine.yield(execution_of.WAIT)
  end
end

---What a function gives within so many seconds.
function parts.within(_, step, ctx, steps)
  return function(seconds, fn)
    if type(seconds) ~= "number" or type(fn) ~= "function" then
      error("ctx.within: needs seconds and a function", 2)
    end
    local execution, branch = here(steps, step, "within")
    return combine.within(execution, branch, seconds, fn, function()
      return ctx.sleep(seconds)
    end)
  end
end

for name, part in pairs(require("skillrt.run.ctx.files")) do
  parts[name] = part
end

-- Tools and servers, loaded by who asks for them.
for _, name in ipairs({ "tool", "mcp" }) do
  parts[name] = function(...)
    return require("skillrt.run.ctx.tools")[name](...)
  end
end

---Where the branch that asks is: the place of its last call.
function inside.place(_, step)
  return function()
    return (place_of(step))
  end
end

---What a function gives, recorded with what comes next: a replay gives it back.
function inside.drawn(_, step)
  return function(make)
    return recorded(step, "", make)
  end
end

---What the function of a step is given.
---@param face table  see `face`
---@param step skillrt.Step
---@return table ctx
function M.new(face, step)
  local ctx = setmetatable({}, face)
  step_of[ctx] = step
  return ctx
end

---What a ctx finds its parts by; made once for a run.
---@param run table    { skill, books, store, input_dir, core, args }
---@param steps skillrt.Steps
---@return table
function M.face(run, steps)
  local function made(from, ctx, name)
    return from[name] and from[name](run, step_of[ctx], ctx, steps)
  end
  return {
    __index = function(ctx, name)
      if name == inside_of.KEY then
        return setmetatable({}, { __index = function(_, which) return made(inside, ctx, which) end })
      end
      local part = made(parts, ctx, name)
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
