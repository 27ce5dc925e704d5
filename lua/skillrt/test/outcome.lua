-- test/outcome.lua: what became of a run that was tested, as a spec asserts on it: the sequence of steps and calls,
-- questions, state, files, cost. A view of the run's story; pure but for reading what it wrote.

local files = require("skillrt.base.files")

local M = {}

---@class skillrt.test.Run
---@field status string
---@field reason string
---@field message string?
---@field state table
---@field steps string[]      ids of actions and phases, in the order they began; of sub-runs as "sub/id"
---@field completed string[]  those that completed, in the order they ended
---@field failed string[]
---@field skipped string[]
---@field calls table[]       what stubs were asked: { agent, id, kind, to, prompt, argv, url, reply, ... }
---@field questions table[]   { question, header, options, answer }
---@field open table[]        questions that nobody answered
---@field log string[]        lines of ctx.log
---@field used table<string, number>  what answers and ctx.used said, by name
---@field retries integer     attempts after the first, of calls and steps
---@field crashes integer     how often it was killed and resumed
---@field elapsed number      seconds of the fake clock
---@field dir string          where it lies until the test is over
---@field story skillrt.Story all of it
local Run = {}
Run.__index = Run

---The text of a file below the run's directory; nil: it is not there.
---@param path string
---@return string|nil
function Run:read(path)
  return (files.read(files.join(self.dir, path)))
end

---How often an agent, a program or a server was asked.
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
function M.of(result, story, world, dir, elapsed)
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

return M
