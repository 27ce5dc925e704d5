-- document/script.lua: runs a Lua script (text only, never a binary chunk): it returns a skill, or the result of a
-- run that it started itself.
--
-- Knows skills, no run and no other document.

local environment = require("skillrt.base.environment")
local files = require("skillrt.base.files")
local skill = require("skillrt.skill")
local tables = require("skillrt.base.tables")

local M = {}

---The largest script, in bytes.
M.MAX_SCRIPT = 4 * 1024 * 1024

local function not_a_skill(path, value)
  return nil,
    ("%s: must return a skill, as in `return skillrt.skill { ... }`, but returned %s"):format(
      path,
      value == nil and "nothing" or "a " .. type(value)
    ),
    "no_skill"
end

-- Runs a chunk in an environment of its own; `path` is its name in messages, `whole` its argument. For who only looks a
-- script that runs its skill itself is stopped there, and that is its skill: any, or the one of that name.
local function run(text, path, chunkname, given, whole)
  local sees, seen = given and given.sees, nil
  if sees then
    given = tables.fill({}, given)
    function given.run(own)
      seen = seen or (sees == true or sees == own.name) and own or nil
      local before = sees ~= true and not seen and ", before " .. sees or ""
      error({ message = ("%s: runs its skill %s itself%s"):format(path, own.name, before), code = "no_skill" }, 0)
    end
  end
  local loaded = environment.new(path, given)
  local chunk, problem = environment.chunk(text, chunkname, loaded.env)
  if not chunk then
    local place = problem:find(path, 1, true) == 1 and problem or ("%s: %s"):format(path, problem)
    return nil, place, "invalid"
  end
  local ok, value, why, cause = environment.during(loaded, xpcall, chunk, function(raised)
    if type(raised) == "table" and type(raised.message) == "string" then
      return raised
    elseif type(raised) == "table" and not (getmetatable(raised) or {}).__tostring then
      raised = path .. ": raised a table without a message; raise a text, or { message = ... }"
    end
    return { message = tostring(raised), traceback = debug.traceback(nil, 2), code = "script" }
  end, whole or path)
  if sees then
    loaded.run, loaded.sees = nil, nil -- what a step starts later is no part of the loading
  end
  if seen and not (ok and skill.is(value)) then
    return seen, nil, nil, nil, true
  elseif not ok then
    if value.code == "stopped" then
      error(value, 0)
    end
    return nil, value.message, value.code, value.traceback
  elseif value == nil and type(why) == "string" then
    return nil, why, cause
  elseif skill.is(value) or not sees and type(value) == "table" and value.status then
    return value
  end
  return not_a_skill(path, value)
end

---Runs a Lua script and returns its result: a skill, or a result of skill:run. Its argument is its full path, because
---a resume has no other: what it derives from that stays the same.
---@param path string
---@param given table|nil  { drawn = what it drew when the run being resumed started; run = what skill:run does;
---  sees = nothing is to run: true, or the name of the skill that is looked for }
---@return table|nil value
---@return string? message
---@return string? code
---@return any traceback
---@return true? ran  it would have run that skill itself
function M.run(path, given)
  local text, message, code = files.read(path, M.MAX_SCRIPT, true)
  if not text then
    return nil, message, code
  end
  return run(text, path, "@" .. path, given, files.join(files.current(), path))
end

---Runs a script without a file. Its text is pinned with the run like a file's.
---@param text string
---@param name string  in messages
---@param given table|nil  as for run
---@return skillrt.Skill|table|nil value
---@return string? message
---@return string? code
function M.run_text(text, name, given)
  if #text > M.MAX_SCRIPT then
    return nil, ("%s: larger than %d bytes"):format(name, M.MAX_SCRIPT), "limit"
  end
  local value, message, code, traceback, ran = run(text, name, "=" .. name, given)
  if skill.is(value) and not value.source then
    value.script_text = { name = name, text = text }
  end
  return value, message, code, traceback, ran
end

return M
