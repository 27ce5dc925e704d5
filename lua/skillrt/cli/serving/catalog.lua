-- cli/serving/catalog.lua: the skills that are served: those at the paths that the operator named, and in the folders
-- there; and a description of each. Untrusted code is not executed for this.

local cut = require("skillrt.base.text").cut
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")

local M = {}

local MARKS <const> = { "SKILL.md", "skill.lua", "skill-config.json", "workflow.json", "agent.yml" }
local MOST <const> = 500
local LONGEST <const> = 1000 -- bytes of a description

local function is_skill(dir)
  for _, mark in ipairs(MARKS) do
    if files.stat(files.join(dir, mark)) then
      return true
    end
  end
  return false
end

local function add(list, path, name)
  local taken, n = list[name], 1
  while taken do
    n = n + 1
    taken = list[("%s-%d"):format(name, n)]
  end
  local one = { name = n > 1 and ("%s-%d"):format(name, n) or name, path = path }
  list[#list + 1], list[one.name] = one, one
end

---The skills at the given paths, in order and by name.
---@param paths string[]
---@return { name: string, path: string }[]|nil list
---@return string? message
function M.find(paths)
  local list = {}
  for _, given in ipairs(paths) do
    local path = files.join(files.current(), files.bare(given))
    local info, message = files.stat(path)
    if not info then
      return nil, message
    elseif not files.is_folder(path) or is_skill(path) then
      add(list, path, path:match("([^/]+)$"):gsub("%.[%w]+$", ""))
    else
      local inside = {}
      for _, entry in ipairs(files.list(path) or {}) do
        inside[#inside + 1] = is_skill(files.join(path, entry.name)) and entry.name or nil
      end
      table.sort(inside)
      for i = 1, math.min(#inside, MOST) do
        add(list, files.join(path, inside[i]), inside[i])
      end
    end
  end
  return list
end

local function shortened(text)
  return text and cut(text:gsub("%s+", " "), LONGEST)
end

local PLAIN <const> = { string = true, number = true, integer = true, boolean = true, object = true }

-- A JSON Schema of a skill's input.
local function schema_of(skill)
  local properties, required = {}, json.array({})
  local guide = skill.guide
  for _, name in ipairs(names.sorted(skill.inputs or {})) do
    local one = skill.inputs[name]
    local kind = PLAIN[one.type] and one.type or require("skillrt.skill.types").is_list(one.type) and "array" or nil
    if name ~= "*" then
      properties[name] = { type = kind, description = one.about, default = one.default,
        enum = one.one_of and json.array(one.one_of) or nil }
      required[#required + 1] = one.required and name or nil
    end
  end
  if guide and guide.is_plain and not guide.is_command and #skill.phases < 2 and not properties.task then
    properties.task = { type = "string", description = "what it is to do" }
    required[#required + 1] = "task"
  end
  return { type = "object", properties = properties, required = required[1] and required or nil }
end

---The description of a skill.
---@param one table  of find
---@param agent any
---@return table
function M.describe(one, agent)
  local ok, _, code = require("skillrt.document.gate").pass(one.path, nil, nil, { agent = agent })
  if not ok and code == "changed" then
    local summary = files.is_folder(one.path) and require("skillrt.document.load.skill_md").summary(one.path) or {}
    return { name = one.name, description = shortened(summary.description), trusted = false,
      problem = "its code has not been approved: a person has to look at it and approve it with skillrt run --trust" }
  end
  local skill, message
  ok, skill, message = pcall(require("skillrt.document.open").see, one.path, { agent = agent })
  if not (ok and skill) then
    return { name = one.name, problem = shortened(tostring(ok and message or skill)) }
  end
  return { name = one.name, description = shortened(skill.description), version = skill.version, mode = skill.mode,
    input = schema_of(skill) }
end

return M
