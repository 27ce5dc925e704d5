-- run/run.lua: what the modules of a run share: its skill, books, store, limits and phase; also for a sub-run.
--
-- Knows no turn, no steps and no calls. Made by run/runner.lua and run/turn/subs.lua.

local core = require("skillrt.core")
local files = require("skillrt.base.files")
local limits_of = require("skillrt.run.limits")

-- The phase of a run, changed only by `become`. Its turn's verdict says how it ends.
--
--   from                          when                                                to
--   opening                       its journal is read, and what was open taken up     going
--   going                         a decider ends it                                   draining
--   going, draining               ... and what is under way is not waited for         canceling
--   any but stopped               its process is to stop, or has to                   stopping
--   any but opening               its last record is written                          stopped
---@alias skillrt.Phase "opening"|"going"|"draining"|"canceling"|"stopping"|"stopped"

---@type table<skillrt.Phase, table<skillrt.Phase, true>>
local NEXT <const> = {
  opening = { going = true, stopping = true },
  going = { draining = true, canceling = true, stopping = true, stopped = true },
  draining = { canceling = true, stopping = true, stopped = true },
  canceling = { stopping = true, stopped = true },
  stopping = { stopping = true, stopped = true },
  stopped = {},
}

---@class skillrt.Run
---@field phase skillrt.Phase  also for a sub-run: that of its run counts
---@field skill skillrt.Skill
---@field books skillrt.Books
---@field store skillrt.Store
---@field limits skillrt.Limits  available after `begin`, like the next three
---@field input_dir string
---@field args string[]
---@field cwd string          the folder in which it was started; if that is missing, the one in which it is resumed
---@field elsewhere boolean   that is not the folder of this process
---@field prompts table<string, string>  texts of prompts, by file
---@field keeps_nothing boolean
---@field accept_changes boolean|nil
---@field shift integer|nil   ms by which the wall clock was set back since a host parked (unloaded) the run
---@field world skillrt.World|nil
---@field recorded skillrt.Store|nil  of a replay: the recorded run
---@field functions table<string, boolean>  the host's
---@field unwatched true|nil  arriving data is not shown
---@field judged table        the values by which the skill's invariants were evaluated
---@field mcp table|nil       what this process knows of its servers, and our identity
local Run = {}
Run.__index = Run

---@param fields table  skill, books, prompts, args; store, shift, world, functions, unwatched
---@return skillrt.Run
function Run.new(fields)
  fields.phase, fields.judged, fields.keeps_nothing = "opening", {}, fields.skill.context == "memory"
  return setmetatable(fields, Run)
end

---@param phase skillrt.Phase
function Run:become(phase)
  if not NEXT[self.phase][phase] then
    error(("the run is %s, and cannot become %s"):format(self.phase, phase))
  end
  self.phase = phase
end

---It replays a recorded run.
---@param store skillrt.Store
function Run:replay_of(store)
  self.recorded = store
end

---Its journal has been read.
function Run:begin()
  local books, here = self.books, files.current()
  self.cwd = books.cwd and files.is_folder(books.cwd) and books.cwd or here
  self.args, self.elsewhere = books.args or self.args, self.cwd ~= here
  self.input_dir = files.join(self.cwd, books.input.dir or ".")
  self.limits = limits_of.new(self)
end

---A sub-run whose books exist.
---@param id string
---@param skill skillrt.Skill
---@param prompts table<string, string>
---@param call skillrt.Call  the call that waits for it
---@return skillrt.Run
function Run:sub(id, skill, prompts, call)
  local books = self.books.subs[id]
  local run = Run.new({
    skill = skill,
    books = books,
    prompts = prompts,
    args = self.args,
    cwd = self.cwd,
    elsewhere = self.elsewhere,
    shift = self.shift,
    accept_changes = self.accept_changes,
    functions = self.functions,
    store = self.store:below(id),
    recorded = self.recorded and self.recorded:below(id),
    input_dir = books.input.dir and files.join(self.cwd, books.input.dir) or self.input_dir,
  })
  run.limits = limits_of.new(run, call)
  return run
end

---The text of a prompt: from a file of the skill (pinned), or the text itself.
---@param prompt string
---@return string
function Run:prompt(prompt)
  local known = self.prompts[prompt]
  if known or prompt:find("[\n ]") then
    return known or prompt
  end
  local text, message = files.kept(self.skill.dir, prompt)
  if not text then
    error({ message = ("prompt %s"):format(message), code = "missing" }, 0)
  end
  self.prompts[prompt] = text
  return text
end

---What this process knows of the run's servers, and our identity; nil: it has none.
---@return table|nil
function Run:servers()
  if self.skill.mcp and not self.mcp then
    self.mcp = { servers = self.skill.mcp, live = {}, version = core.version, cwd = self.cwd }
  end
  return self.mcp
end

return Run
