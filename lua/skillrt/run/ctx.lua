-- run/ctx.lua: what a run function gets as its second argument, and how it waits.
--
-- Time, randomness and ids are taken from here and recorded, so that a function that runs
-- again after a crash sees what it saw before. Waiting is a yield to policy.lua. Knows
-- files and the ledger's steps, no agents, no journal. Called by perform.lua.

local performed = require("skillrt.run.performed")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local state = require("skillrt.skill.state")

local M = {}

-- The mark of a wait: nothing else that a function yields is taken for one.
M.AWAIT = {}

-- The next recorded value, or a fresh one that the next record will carry.
local function recorded(step, make)
  step.cursor = step.cursor + 1
  local value = step.recorded[step.cursor]
  if value == nil then
    value = make()
    step.fresh = step.fresh or {}
    step.fresh[#step.fresh + 1] = value
  end
  return value
end

---@class skillrt.Context
---@field get fun(key: string): any  read-only; as it was when the step began, or set by it
---@field set fun(key: string, value: any)

local function context_of(step)
  local context = {}
  ---Gives a value of the shared context; nil where nobody set it (F14).
  function context.get(key)
    local value = step.context and step.context[key]
    if value == nil then
      value = step.root.context[key]
    end
    if value == json.null then
      return nil
    end
    return state.view(value)
  end
  ---Sets a value; it is kept together with the step's result.
  function context.set(key, value)
    local id, problem = names.id(key)
    if not id then
      error("context.set: the key " .. problem, 2)
    end
    step.context = step.context or {}
    step.context[key] = value == nil and json.null or value
  end
  return context
end

local function confined(work_dir, path, what)
  if type(path) ~= "string" then
    error(("ctx.%s: the path must be a string, not %s"):format(what, type(path)), 3)
  end
  local ok, why = files.is_confined(path)
  if not ok then
    error(("ctx.%s: path %q %s"):format(what, path, why), 3)
  end
  return files.join(work_dir, path)
end

-- Where reads start: a relative path may not climb out.
local function source(base, path, what)
  if type(path) ~= "string" then
    error(("ctx.%s: the path must be a string, not %s"):format(what, type(path)), 3)
  elseif files.is_absolute(path) then
    return path
  end
  local ok, why = files.is_confined(path)
  if not ok then
    error(("ctx.%s: path %s %s; give an absolute path to look elsewhere"):format(what, names.show(path), why), 3)
  end
  return files.join(base, path)
end

-- Each part of a ctx, made when the script first asks for it: most steps ask for few.
local parts = {}

function parts.input(run)
  return run.ledger.input
end

function parts.args(run)
  return run.args
end

function parts.dir(run)
  return run.skill.dir
end

function parts.work_dir(run)
  return run.work_dir
end

function parts.run_id(run)
  return run.ledger.run_id
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

function parts.interaction(run)
  return run.skill.interaction
end

function parts.context(_, step)
  return context_of(step)
end

---Milliseconds since the epoch (UTC), recorded.
function parts.now(run, step)
  return function()
    return recorded(step, run.core.wall_ms)
  end
end

---Like math.random, recorded.
function parts.random(run, step)
  return function(low, high)
    local unit = recorded(step, run.core.random)
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
    return recorded(step, run.core.uuid)
  end
end

local function note(step, text)
  step.notes = step.notes or {}
  step.notes[#step.notes + 1] = text
end

---A line for the log of the run.
function parts.log(_, step)
  return function(text)
    note(step, tostring(text))
  end
end

-- A member of a chain that is a function of the script, performed as the step's own would be.
local function call_member(step, ctx, run)
  local ok, first, second, third = pcall(run, state.view(step.root), ctx)
  local outcome, failure
  if ok then
    outcome, failure = performed.returned(step, first, second, third)
  else
    failure = performed.raised(step, first)
  end
  if outcome then
    return outcome
  end
  return nil, failure.message, failure.class
end

-- Asks one member of a chain: its reply; or nil, message, class.
local function ask_member(run, step, ctx, request)
  if request.agent.kind == "lua" then
    return call_member(step, ctx, request.agent.run)
  end
  local problem = run.prepare(step, request)
  if problem then
    return nil, problem, "permanent"
  end
  return coroutine.yield(M.AWAIT, request)
end

-- One after the other until one succeeds, as a step's own chain is asked (F47).
local function ask_chain(run, step, ctx, requests)
  local reply, message, class
  for i, request in ipairs(requests) do
    reply, message, class = ask_member(run, step, ctx, request)
    if reply then
      return reply
    elseif requests[i + 1] then
      note(step, ("%s; now agent %d of the chain"):format(message, i + 1))
    end
  end
  return nil, message, class
end

---Waits for another task: gives its reply, or nil, message, class.
function parts.await(run, step, ctx)
  return function(request)
    if type(request) ~= "table" then
      error("ctx.await: needs a request (a table), not " .. type(request), 2)
    elseif coroutine.running() ~= step.thread then
      error("ctx.await: call it from the run function itself, not inside a coroutine of your own", 2)
    end
    local problem, requests = run.prepare(step, request)
    if problem then
      error("ctx.await: " .. problem, 2)
    elseif requests then
      return ask_chain(run, step, ctx, requests)
    end
    return coroutine.yield(M.AWAIT, request)
  end
end

---Files that match, sorted, relative to input.dir (or the current folder).
function parts.glob(run)
  return function(pattern, dir)
    if type(pattern) ~= "string" then
      error("ctx.glob: the pattern must be a string, not " .. type(pattern), 2)
    end
    return files.glob(source(run.input_dir, dir or ".", "glob"), pattern)
  end
end

---The text of a file; a relative path is looked up below input.dir (or the current folder).
function parts.read(run)
  return function(path)
    return files.read(source(run.input_dir, path, "read"))
  end
end

---Writes a file below the work directory, whole or not at all; with durability "power" it
---survives a power cut.
function parts.write(run)
  return function(path, text)
    confined(run.work_dir, path, "write")
    if names.is_taken(path) then
      error(("ctx.write: %q would replace a file of the run itself; choose another name"):format(path), 2)
    end
    if type(text) ~= "string" then
      error("ctx.write: the text must be a string, not " .. type(text), 2)
    end
    return files.keep(run.work_dir, path, text, files.lasts(run.skill))
  end
end

local STEP = {} -- where a ctx keeps its step

local function face_of(run)
  return {
    __index = function(ctx, name)
      local make = parts[name]
      if not make then
        return nil
      end
      local part = make(run, ctx[STEP], ctx)
      rawset(ctx, name, part)
      return part
    end,
    __name = "ctx",
  }
end

---@param run { skill: table, ledger: skillrt.Ledger, work_dir: string, input_dir: string, core: table, args: string[] }
---@param step skillrt.Step
---@return table ctx
function M.new(run, step)
  step.cursor, step.fresh, step.context, step.notes = 0, nil, nil, nil
  run.ctx_face = run.ctx_face or face_of(run)
  return setmetatable({ [STEP] = step }, run.ctx_face)
end

return M
