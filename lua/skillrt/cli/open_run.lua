-- cli/open_run.lua: a run that a Lua program advances in its own loop (skill:open).
--
-- All open runs of a Lua state share one loop, and so one descriptor. Nothing here waits. Called by init.lua.

local host = require("skillrt.cli.host")
local json = require("skillrt.base.json")
local runner = require("skillrt.run.runner")

local M = {}

---@class skillrt.OpenRun
---@field work_dir string  absolute
local Run = {}
Run.__index = Run

---@param skill skillrt.Skill
---@param options table  skillrt.RunOptions; with `resume` also those of a resume
---@return skillrt.OpenRun|nil run
---@return string? message
---@return string? code
function M.open(skill, options)
  local run, report, turn = (options.resume and runner.take_up or runner.begin)(skill, options)
  if not run then
    return nil, report --[[@as string]], turn --[[@as string]]
  end
  runner.announce(report, turn)
  local place = turn.run.store.place
  return setmetatable({ hosted = { run = run, turn = turn, work_dir = place }, work_dir = place, going = true }, Run)
end

---Does what can be done now for all open runs of this Lua state, without waiting.
---@return boolean going  false: this run has stopped
function Run:turn()
  self.going = runner.advance(self.hosted.run, "turn")
  return self.going
end

---@return integer fd  readable when a turn has work; the same for all open runs; never read from it
function Run:wait_fd()
  return (self.hosted.run:loop())
end

---@return integer ms  after that a turn has work in any case; -1: no limit
function Run:wait_ms()
  return (select(2, self.hosted.run:loop()))
end

---Asks the run to stop and stay resumable; a later turn reports that it has.
function Run:stop()
  self.hosted.run:stop()
end

---@return skillrt.Result|nil result  nil: it has not stopped
function Run:result()
  if not self.going then
    self.ended = self.ended or runner.result(self.hosted.run, self.hosted.turn)
  end
  return self.ended
end

---@return table[] questions  the open ones: { question = its number, text, options, schema, nonce, due, step }
function Run:questions()
  return host.questions(self.hosted)
end

---@param value any
---@param question integer?  default: the only one that is open
---@return true|nil ok
---@return string? message
function Run:answer(value, question)
  local ok, message = host.answer(self.hosted, question, assert(json.encode(value)))
  return ok and true, not ok and message or nil
end

---@param name string
---@param value any?    default: true
---@param id string?    a second event with the same id is ignored
---@return true|nil ok
---@return string? message
function Run:event(name, value, id)
  local ok, message = host.event(self.hosted, name, value ~= nil and assert(json.encode(value)) or nil, id)
  return ok and true, not ok and message or nil
end

---Cancels what is under way and releases the run. Without a stop this is like a crash: a resume continues.
function Run:close()
  self.going = false
  self.hosted.run:close()
end
Run.__close = Run.close

return M
