-- run/subs/scope.lua: a scope of a run made of the call that waits for it: its skill found and made ready, its
-- first records, its rooms.
--
-- Knows skills, steps and modes; what a path holds knows skill.open, which the doors set. Part of subs.lua.

local choices = require("skillrt.skill.choices")
local core = require("skillrt.core")
local drawn = require("skillrt.base.drawn")
local files = require("skillrt.base.files")
local http = require("skillrt.run.runner.http")
local json = require("skillrt.base.json")
local limits_of = require("skillrt.run.limits")
local names = require("skillrt.base.names")
local plain = require("skillrt.base.plain")
local prepare = require("skillrt.run.runner.prepare")
local resume = require("skillrt.run.resume")
local scheduler = require("skillrt.run.scheduler")
local skill_of = require("skillrt.skill")
local steps_of = require("skillrt.run.steps")

local M = {}

---How deep scopes may nest.
M.DEPTH = 8

---The request that ctx.run makes.
---@param skill skillrt.Skill|string
---@param input table|nil
---@return table|nil request
---@return string? message
function M.request(skill, input)
  local is_skill = skill_of.is(skill)
  if not is_skill and (type(skill) ~= "string" or skill == "") then
    return nil, "needs a skill or the path of one, not " .. names.show(skill)
  elseif input ~= nil and (type(input) ~= "table" or json.is_array(input)) then
    return nil, "the input must hold names and values, not " .. names.show(input)
  end
  local copy, text, message
  copy, message = plain.copy(input or {}, "input")
  if copy ~= nil then
    text, message = json.encode(copy, { sorted = true, name = "input" })
  end
  if not text then
    return nil, message
  end
  local shown = is_skill and skill.name or skill
  return {
    kind = "run",
    skill = skill,
    input = copy,
    expect = "raw",
    idempotent = true,
    shown = shown,
    declared = { url = "skill " .. shown, body = text },
  }
end

local function depth_of(step)
  return step.home.sub and step.home.sub.depth or 0
end

-- The skill that a call names: given, or loaded from its path as it was when the scope began.
local function skill_for(policy, call, known)
  local given = call.request.skill
  if type(given) ~= "string" then
    return given
  elseif not skill_of.open then
    return nil, given .. ": this program cannot load skills from paths; give ctx.run a skill"
  end
  local from = call.step.home.run
  local before = drawn.loading
  local _ <close> = setmetatable({}, { __close = function() drawn.loading = before end })
  local skill, message = skill_of.open(files.join(from.skill.dir, given), {
    agent = policy.session.agent,
    drawn = known and known.drawn,
  })
  if skill and not skill_of.is(skill) then
    return nil, given .. ": ran its skill itself; a script for ctx.run must return the skill"
  end
  return skill, message
end

---The skill made ready for the run, as a run's own is.
---@return table|nil prepared
---@return table|string pins_or_message
---@return table? prompts
function M.prepared_for(policy, call, known)
  if depth_of(call.step) >= M.DEPTH then
    return nil, ("%s: sub-runs are nested %d deep already"):format(call.to, M.DEPTH)
  end
  local skill, message = skill_for(policy, call, known)
  if not skill then
    return nil, message
  end
  local own = policy.run.skill
  local prepared, pins, prompts = prepare.skill(skill, { durability = own.durability, context = own.context })
  if not prepared then
    return nil, pins
  elseif policy.run.world then
    policy.run.world:dress(prepared)
  end
  local _, missing = http.module(prepared)
  if missing then
    return nil, missing
  end
  if prepared.inputs and not known then
    local input
    input, message = require("skillrt.skill.inputs").take(prepared, call.request.input)
    if not input then
      return nil, message
    end
    call.request.input = input
  end
  return prepared, pins, prompts
end

-- A journal whose records belong to a scope where they belong to no step that does.
local function journal_for(journal, id)
  return setmetatable({
    begin = function(_, step, said)
      journal:begin(step, said, id)
    end,
    emit = function(_, entry, ours)
      entry.sub = not entry.step and id or nil
      return journal:emit(entry, ours)
    end,
  }, { __index = journal })
end

---What the scope of a call is called.
---@param call skillrt.Call
---@return string
function M.id_of(call)
  local step = call.step
  local generation = step.generations[call.place]
  return ("%d.%s%s"):format(step.number, call.place, generation and ("-%d"):format(generation + 1) or "")
end

---A scope begins: its first records.
function M.begin(policy, call, id, skill, pins)
  policy.calls:emit(call, { t = "call", kind = "run", to = call.to, digest = call.digest, idem = true, sub = id })
  assert(policy:emit({
    t = "run",
    sub = id,
    step = call.step.number,
    run = policy.books.run_id,
    skill = skill.name,
    version = skill.version,
    mode = skill.mode,
    move = skill.machine and skill.machine.begins,
    input = call.request.input,
    state = skill.state,
    pins = pins,
    choices = choices.of(skill),
    drawn = skill.loaded and skill.loaded.drawn,
    context = skill.context,
  }))
  local input = call.request.input
  if skill.contexts or input.references then
    local caller = call.step.home.run.books
    require("skillrt.run.contexts").load(policy, skill, id, { references = input.references,
      context = caller.state.root.context })
  end
end

---A skill whose files changed does not go on, as the run's own does not.
function M.check_pins(policy, id, books, pins, skill)
  local fresh = resume.take_helpers(books.pins, pins, skill)
  if fresh then
    assert(policy:emit({ t = "pin", sub = id, pins = fresh }))
  end
  local changed = resume.changed_files(books.pins, pins)
  if #changed == 0 then
    return
  elseif not policy.session.accept_changes then
    local text = "%s: of the sub-run %s (%s) changed since it began: %s; go on with them by --accept-changes"
    error({
      message = text:format(policy.run.work_dir, id, books.skill, table.concat(changed, ", ")),
      code = "changed",
    }, 0)
  end
  assert(policy:emit({ t = "accept", sub = id, pins = pins, changed = changed, choices = choices.of(skill) }))
end

---@class skillrt.Sub  a sub-run that is under way
---@field id string
---@field subs skillrt.Subs
---@field call skillrt.Call   that waits for it
---@field depth integer
---@field run skillrt.Run
---@field steps skillrt.Steps
---@field scheduler skillrt.Scheduler
---@field paused table|nil    { reason, message }: it cannot go on by itself
---@field canceled boolean|nil
---@field left integer|nil    canceled: steps with calls that are not over
local Sub = {}
Sub.__index = Sub

---Something ended in it: it is asked what is next.
function Sub:touch()
  self.subs:touch(self)
end

---Nobody waits for it any more: nothing begins in it, what may be given up is.
function Sub:cancel()
  if self.canceled then
    return
  end
  self.canceled, self.left = true, 0
  for _, step in pairs(self.subs.policy.books.steps) do
    local execution = step.sub == self.id and step.execution
    if execution and not execution.ended then
      execution:stop_branches(function() return true end)
      if next(execution.calls) == nil then
        execution:close()
      else
        self.left = self.left + 1
        execution.drained = function()
          execution.drained = nil
          execution:close()
          self.left = self.left - 1
          self:touch()
        end
      end
    end
  end
  self:touch()
end

---The rooms of a scope whose books are there.
---@param subs skillrt.Subs
---@return skillrt.Sub
function M.made(subs, call, id, skill, prompts)
  local policy = subs.policy
  local books, root = policy.books.subs[id], policy.run
  local run = {
    skill = skill,
    books = books,
    prompts = prompts,
    args = root.args,
    core = core,
    keeps_nothing = root.keeps_nothing,
    elsewhere = root.elsewhere,
    shift = root.shift,
    accept_changes = root.accept_changes,
    work_dir = files.join(root.work_dir, "sub/" .. id:gsub("/", "%%2F")),
    recorded_in = root.recorded_in and files.join(root.recorded_in, "sub/" .. id:gsub("/", "%%2F")),
    input_dir = books.input.dir and files.join(policy.books.cwd or files.current(), books.input.dir) or root.input_dir,
  }
  local sub = setmetatable({ id = id, subs = subs, call = call, depth = depth_of(call.step) + 1, run = run }, Sub)
  if not run.keeps_nothing then
    local made, why, cause = files.make_folders(run.work_dir)
    if not made then -- as any record that finds no room: the run pauses
      error({ message = why, code = cause == "system" and "store" or cause }, 0)
    end
  end
  local journal = journal_for(policy.journal, id)
  local mode = policy.make_mode(run)
  run.limits = limits_of.new(run, call)
  sub.steps = steps_of.new(run, journal, policy.calls, policy.numbers, mode, sub, policy.steps)
  sub.scheduler = scheduler.new(run, journal, sub.steps, mode)
  return sub
end

return M
