-- document/reopen.lua: resumes the run in a directory: finds its script, loads its skill.
--
-- Knows who opens skills, and the runner; no command line.

local files = require("skillrt.base.files")
local gate = require("skillrt.document.gate")
local kind_of = require("skillrt.document.kind").of
local open = require("skillrt.document.open")
local runner = require("skillrt.run.runner")
local skill_of = require("skillrt.skill")
local tables = require("skillrt.base.tables")

local M = {}

-- The run's copy of a workflow's script, if the script itself is gone; nil: it exists, or there is no copy.
local function copy_of(work_dir, script)
  if files.stat(script) then
    return nil
  end
  local copies = require("skillrt.skill.workflow").COPIES
  local copy = require("skillrt.run.store").at(work_dir):path(copies .. script:match("[^/]*$"))
  copy = files.join(files.current(), copy)
  return files.stat(copy) and copy or nil
end

---The skill of a run: given, or what its script returns now. A script that calls skill:run itself resumes this run
---instead, and returns the result.
---@param work_dir string
---@param options table  { skill, script, person } and what resume takes; among_others: a script that would wait for the
---       run itself, which no other run may wait for, is refused, and `waits` is set; sees: nothing is to run
---@param load (fun(path: string): any, string?, string?)?  default: open.load
---@return table|nil skill_or_result
---@return string? message
---@return string? code
function M.skill_for(work_dir, options, load)
  if options.skill then
    if not skill_of.is(options.skill) then
      error("skillrt: options.skill must be made by skillrt.skill", 3)
    end
    return options.skill
  end
  local wrong, cause
  local first, message, code = runner.first(work_dir, function(first, blob)
    if first.submitted and not options.script then
      options.unpacked, wrong, cause = require("skillrt.document.submission").unpack(work_dir, first, blob)
    end
  end)
  if not first or wrong then
    return nil, message or wrong, code or cause
  elseif not (options.script or first.script) then
    return nil, ("%s: its skill was not loaded from a file; give options.skill"):format(work_dir), "invalid"
  end
  local ok, value, why, traceback
  if options.unpacked then
    require("skillrt.document.child") -- its steps may submit runs
  end
  if not (options.script or options.unpacked) then
    options.script = copy_of(work_dir, first.script)
    options.note = options.script
      and ("the script %s is gone; its copy %s is used"):format(first.script, options.script)
  end
  ok, message, code = gate.pass_run(work_dir, first, options.person, options)
  if not ok then
    return nil, message, code
  end
  options._first = first -- to read it again would take a look at the whole journal
  options.strategy = options.strategy or first.strategy -- a run keeps its initial setting
  options.durability = options.durability or first.durability
  options.sandbox = options.sandbox or first.sandbox
  options.agent = options.agent or first.agent
  local resumed, result = false, nil
  local function own(skill, given)
    if resumed or first.skill and first.skill ~= skill.name then
      return runner.run(skill, given)
    elseif options.among_others then
      options.waits = true
      error("its script waits for its run itself", 0)
    end
    resumed = true
    result, message, code = runner.go_on(skill, tables.fill({ work_dir = work_dir }, options))
    return result, message, code
  end
  local folder = first.folder
  if options.script then
    folder = kind_of(options.script) == "document" and options.script or nil
  end
  local before, script = _G.arg, options.script or options.unpacked and options.unpacked.script or first.script
  _G.arg = table.move(first.args or {}, 1, #(first.args or {}), 1, { [0] = script }) -- as it was when the run started
  ok, value, why, cause, traceback = pcall(load or open.load, script, {
    agent = options.agent,
    by_section = first.by_section,
    compiles = first.compiles,
    drawn = first.load,
    run = own,
    sees = options.sees and first.skill,
    is_stranger = open.is_stranger({ folder = folder }, options.person, options.sandbox) or nil,
  }, false)
  _G.arg = before
  if not ok then
    error(value, 0)
  end
  if result then
    return result
  end
  if not value and cause == "missing" and not options.script and not files.stat(script) then
    why = ("%s: the run's script is gone; if it has moved, name its place: --script PATH"):format(script)
  end
  return value, why, cause, traceback
end

---@param work_dir string
---@param options table  as for runner.go_on, and skill, script
---@return skillrt.Result|nil result
---@return string? message
---@return string? code
function M.go_on(work_dir, options)
  local all = {}
  for key, value in pairs(options) do
    all[key] = value
  end
  all.work_dir = work_dir
  local skill, message, code, traceback = M.skill_for(work_dir, all)
  if not skill then
    return nil, message, code, traceback
  elseif not skill_of.is(skill) then
    return skill -- the script ran it itself
  end
  return runner.go_on(skill, all)
end

return M
