-- test/init.lua: the module skillrt.test for specs of a skill (docs/write/testing.md): runs the skill with stubs in
-- place of everything that it calls, and returns what happened.
--
-- The run is real, in a folder that is removed afterwards. Knows skills, runs and worlds; nothing of the words of
-- specs.

local clock = require("skillrt.base.fake_clock") -- before any module that reads the time
local faults = require("skillrt.test.faults")
local files = require("skillrt.base.files")

local M = {}

-- ---- the result of a run, for a spec's assertions ----

---@class skillrt.test.Run
---@field status string
---@field reason string
---@field message string?
---@field state table
---@field steps string[]      ids of actions and phases, in the order they started; of sub-runs as "sub/id"
---@field completed string[]  those that completed, in the order they ended
---@field failed string[]
---@field skipped string[]
---@field calls table[]       the requests to stubs: { agent, id, kind, to, prompt, argv, url, reply, ... }
---@field questions table[]   { question, header, options, answer }
---@field open table[]        questions without an answer
---@field log string[]        lines of ctx.log
---@field used table<string, number>  usage reported by answers and ctx.used, by name
---@field retries integer     attempts after the first, of calls and steps
---@field crashes integer     how often it was killed and resumed
---@field elapsed number      seconds of the simulated clock
---@field dir string          where it is until the test has ended
---@field story skillrt.Story all of it
local Run = {}
Run.__index = Run

---The text of a file below the run's directory; nil: it does not exist.
---@param path string
---@return string|nil
function Run:read(path)
  return (files.read(files.join(self.dir, path)))
end

---How often an agent, a program or a server was called.
---@param name string
---@return integer
function Run:asked(name)
  local count = 0
  for _, call in ipairs(self.calls) do
    if call.agent == name or call.to == name or call.argv and call.argv[1]:match("[^/]*$") == name then
      count = count + 1
    end
  end
  return count
end

---@param result skillrt.Result
---@param story skillrt.Story
---@param world skillrt.test.World
---@param dir string
---@param elapsed number
---@return skillrt.test.Run
local function run_of(result, story, world, dir, elapsed)
  local run = setmetatable({
    status = result.status, reason = result.reason, message = result.message, state = result.state,
    steps = {}, completed = {}, failed = {}, skipped = {}, log = {}, calls = world.calls, questions = world.questions,
    open = {}, used = story.used, retries = story.retries, crashes = world.crashes, elapsed = elapsed, dir = dir,
    story = story, answer = result.answer,
  }, Run)
  local over = {}
  for _, step in ipairs(story.steps) do
    local id = step.sub and ("%s/%s"):format(step.sub, step.id) or step.id
    if step.status == "skipped" then
      run.skipped[#run.skipped + 1] = id
    else
      run.steps[#run.steps + 1] = id
    end
    if step.status == "completed" or step.status == "partial" then
      over[#over + 1] = { at = step.ended, id = id }
    elseif step.status == "failed" then
      run.failed[#run.failed + 1] = id
    end
    for _, note in ipairs(step.notes) do
      run.log[#run.log + 1] = note.text
    end
  end
  for i, one in ipairs(over) do
    run.completed[i] = one.id
  end
  for i, one in ipairs(result.questions or {}) do
    run.open[i] = one.question
  end
  return run
end

for name in ("timeout refused reset status exit garbage crash after on tools"):gmatch("%l+") do
  M[name] = faults[name]
end

---The skill under test, and how it is run: set by `skillrt test`.
---@type { skill: string, seconds: number, folder: fun(): string }
M.subject = nil

local OPTIONS = {}
for name in ([[skill state input args agents programs urls real answers events now limits strategy context secrets
  durability]]):gmatch("%S+") do
  OPTIONS[name] = true
end

local function check(options)
  local names = require("skillrt.base.names")
  for name in pairs(options) do
    if not OPTIONS[name] then
      error(("test.run: unknown option %s%s"):format(names.show(name), names.suggest(tostring(name), OPTIONS)), 3)
    end
  end
end

-- The skill at a path, with stubs for the agents that the test does not set.
local function loaded(path, options)
  local open = require("skillrt.document.open")
  local value, message, code, more
  if not path:find("%.m?[jt]s$") then
    value, message, code, more = open.load(path, { drawn = options.drawn, sees = options.sees }, false)
  end
  if not value and (code == nil or code == "invalid") or value and value.missing then
    local given = { agent = { kind = "dry", name = "agent" }, drawn = options.drawn, sees = options.sees }
    value, message, code, more = open.load(path, given, false)
  end
  return value, message, code, more
end

-- One process of the run: starts it, or resumes it where it was killed.
local function session(skill, options, dir, resumes)
  local runner = require("skillrt.run.runner")
  local is = require("skillrt.skill").is
  if resumes then
    local reopen = require("skillrt.document.reopen")
    local all = { work_dir = dir, world = options.world, watcher = options.watcher, person = false, sees = true }
    local value, message, code = skill, nil, nil
    if not is(skill) then
      value, message, code = reopen.skill_for(dir, all, loaded)
    end
    if not value then
      return nil, message, code
    end
    return runner.go_on(value, all)
  end
  local value, message, code = skill, nil, nil
  if not is(skill) then
    value, message, code = loaded(skill, { sees = true })
  end
  if not value then
    return nil, message, code
  end
  return runner.run(value, options)
end

local function instant_of(given)
  if given == nil then
    return 1800000000000
  end
  local at, problem = require("skillrt.base.instant").read(given)
  return at or error("test.run: now: " .. problem, 3)
end

---Runs the skill with stubs in place of what it calls, until it ends or pauses.
---@param options table?  see docs/write/testing.md
---@return skillrt.test.Run
function M.run(options)
  options = options or {}
  check(options)
  local skill = options.skill or (M.subject or {}).skill or error("test.run: names no skill: skill = PATH", 2)
  local folder = (M.subject or {}).folder()
  local dir = files.join(folder, "run")
  local story = require("skillrt.run.story").new()
  clock.now = instant_of(options.now)
  local from = clock.now
  local keeps = options.context ~= "memory" and (type(skill) ~= "table" or skill.context ~= "memory")
  local world = require("skillrt.test.world").new(options, keeps and dir or nil, M.subject.seconds)
  require("skillrt.agent.gate").forget()
  require("skillrt.base.secrets").get = function(name) -- a test must not use the real ones
    return (options.secrets or {})[name] or "stub of " .. name
  end
  local watcher = { flush = function() end, observe = function(record) story:add(record) end }
  local result, message
  local resumes = false
  repeat
    world.killed = nil
    result, message = session(skill, { work_dir = dir, input = options.input, args = options.args or {},
      strategy = options.strategy, durability = options.durability or "process", context = options.context,
      limits = options.limits, world = world, watcher = watcher }, dir, resumes)
    if world.killed then
      assert(files.rename(dir .. ".killed", dir))
      resumes = true
    end
  until not world.killed or world.problem
  if world.problem or not result then
    error({ failure = tostring(world.problem or message) }, 0)
  end
  if not result.in_memory then
    story = assert(require("skillrt.run.story").read(dir))
  end
  return run_of(result, story, world, dir, (clock.now - from) / 1000)
end

return M
