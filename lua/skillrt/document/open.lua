-- document/open.lua: opens a skill from a path: chooses the reader, after the gate let it pass.
--
-- Knows who reads what, and no run.

local files = require("skillrt.base.files")
local gate = require("skillrt.document.gate")
local kind_of = require("skillrt.document.kind").of
local names = require("skillrt.base.names")
local script = require("skillrt.document.script")
local tables = require("skillrt.base.tables")
local is_off = require("skillrt.skill.sandbox").is_off
local is_skill = require("skillrt.skill").is

local M = {}

-- Whether what is loaded counts as untrusted: the gate asks a person about it, and that person did not turn sandboxes
-- off.
local function is_unknown(person, sandbox)
  return person == nil and gate.person and not is_off(sandbox) or nil
end

local function has_own_script(dir)
  return require("skillrt.document.trust").has_own_script(dir)
end

---A skill from whatever is at `path`.
---@param path string
---@param options skillrt.load.Options?  agents for anything but a script
---@param person skillrt.Person|false|nil  whom the gate asks; false: trusted code loads it
---@return skillrt.Skill|table|nil skill
---@return string? message
---@return string? code
---@return any more  findings about what was read, or a script's traceback
function M.load(path, options, person)
  if type(path) ~= "string" then
    error("skillrt.load: the path must be a text, not " .. names.show(path), 2)
  elseif options ~= nil and type(options) ~= "table" then
    error("skillrt.load: the options must be a table, not " .. names.show(options), 2)
  end
  path = files.is_folder(path) and files.bare(path) or path
  local kind = kind_of(path)
  options = options or {}
  local is_stranger = options.is_stranger or is_unknown(person, options.sandbox)
  if kind == "script" and options.is_stranger and not has_own_script(files.dirname(path)) then
    path, kind = files.dirname(path), "document" -- as it was read when its run started
  end
  if is_stranger and kind == "document" then
    options = setmetatable({ is_stranger = true, has_own_script = files.is_folder(path) and has_own_script(path) },
      { __index = options })
  end
  local function may(document)
    return gate.pass(path, document, person)
  end
  if options.compiles then
    local ok, message, code = may()
    if not ok then
      return nil, message, code
    end
    return require("skillrt.document.compile").skill(path, options)
  elseif kind ~= "document" and options.by_section then
    return require("skillrt.document.load.page_steps").refuse_script(path)
  elseif kind == "workflow" then
    local ok, message, code = may()
    if not ok then
      return nil, message, code
    end
    local choice = require("skillrt.agent.choice")
    local agent, problem = choice.of_step({ "default" }, { { ["*"] = options.agent and choice.of(options.agent) } })
    if problem then
      return nil, problem, "invalid"
    end
    return require("skillrt.skill.workflow").load(path, { agent = agent })
  end
  if kind == "script" and options.is_stranger then
    return require("skillrt.document.load").guest(path, options)
  elseif kind == "script" and (options.agent or options.agents) then
    return require("skillrt.document.load").script(path, options)
  elseif kind == "script" then
    return script.run(path, options)
  end
  local skill, message, code, more = require("skillrt.document.load").load(path, options, may)
  if is_skill(skill) then
    skill.folder = path -- what was named: a run is resumed only if that may be loaded
  end
  return skill, message, code, more
end

---The same, for whoever only looks: nothing runs, not even where a script runs its skill itself.
---@param path string
---@param options skillrt.load.Options?
---@param person skillrt.Person|false|nil
---@return skillrt.Skill|nil skill
---@return string? message
---@return string? code
---@return any more
function M.see(path, options, person)
  return M.load(path, tables.fill({ sees = true }, options or {}), person)
end

---Whether the script that a run's journal names is untrusted: it belongs to a folder.
---@param first table  the run's first record
---@param person skillrt.Person|false|nil
---@param sandbox string?  the present setting, or the one when it started
---@return boolean?
function M.is_stranger(first, person, sandbox)
  return first.folder and is_unknown(person, sandbox)
end

-- What a trusted skill names is part of what was trusted.
require("skillrt.skill").open = function(path, options)
  return M.see(path, options, false)
end

return M
