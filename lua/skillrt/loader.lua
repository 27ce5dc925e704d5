-- loader.lua: a skill from a path: what kind of thing lies there, and who reads it.
--
-- A Lua script is run (text only, never a binary chunk) and gives a skill, or the result of a
-- run it made itself. Knows no run. Called by init.lua and cmd/*.

local files = require("skillrt.files")
local skill = require("skillrt.skill")

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

---Runs a Lua script and gives what it returns: a skill, or a result of skill:run.
---@param path string
---@return table|nil value
---@return string? message
---@return string? code
function M.script(path)
  local text, message, code = files.read(path, M.MAX_SCRIPT)
  if not text then
    return nil, message, code
  end
  local chunk, problem = load(text:gsub("^#[^\n]*", "", 1), "@" .. path, "t")
  if not chunk then
    local place = problem:find(path, 1, true) == 1 and problem or ("%s: %s"):format(path, problem)
    return nil, place, "invalid"
  end
  local ok, value, why, kind = xpcall(chunk, function(raised)
    if type(raised) == "table" and type(raised.message) == "string" then
      return raised
    elseif type(raised) == "table" and not (getmetatable(raised) or {}).__tostring then
      raised = path .. ": raised a table without a message; raise a text, or { message = ... }"
    end
    return { message = tostring(raised), traceback = debug.traceback(nil, 2), code = "script" }
  end, path)
  if not ok then
    if value.code == "stopped" then
      error(value, 0)
    end
    return nil, value.message, value.code, value.traceback
  elseif value == nil and type(why) == "string" then
    return nil, why, kind
  elseif skill.is(value) or (type(value) == "table" and value.status) then
    return value
  end
  return not_a_skill(path, value)
end

---A skill from whatever lies at `path`.
---@param path string
---@param options skillrt.load.Options?  agents for what is no script
---@return skillrt.Skill|table|nil skill
---@return string? message
---@return string? code
---@return any more  findings about what was read, or a script's traceback
function M.load(path, options)
  if type(path) ~= "string" then
    error(("skillrt.load: the path must be a text, not %s"):format(path == nil and "nothing" or "a " .. type(path)), 2)
  end
  local info = files.stat(path)
  local ours = info and (info.kind == "directory" or path:find("%.[jm][sd]o?n?$") or path:find("%.ya?ml$"))
  if not ours and options and (options.agent or options.agents) then
    return require("skillrt.load").script(path, options)
  elseif not ours then
    return M.script(path)
  end
  return require("skillrt.load").load(path, options)
end

return M
