-- types.lua: writes docs/skillrt.d.lua, the types of skills, actions, phases and ctx for editors (LuaCATS): make types
--
-- Names and types come from what the code accepts, descriptions from the tables of docs/write. tests/lua/types_spec.lua
-- checks that the file is current.

local schema = require "skillrt.skill.schema"

local M = {}

local TYPES <const> = { text = "string", string = "string", id = "string", path = "string", number = "number",
  seconds = "number", count = "integer", positive = "integer", amount = "number", boolean = "boolean", table = "table",
  ["function"] = "function" }

-- The LuaCATS type of a field of a record.
local function type_of(field)
  local names = {}
  if field.enum then
    for i, word in ipairs(field.enum) do
      names[i] = ('"%s"'):format(word)
    end
  else
    local given = field.type
    for i, name in ipairs(type(given) == "table" and given or { given }) do
      names[i] = TYPES[name] or "any"
    end
  end
  local text = names[1] and table.concat(names, "|") or "any"
  return field.list and (text:find "|" and ("(%s)[]"):format(text) or text .. "[]") or text
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- The rows of all tables of a page: the words of the first cell in backquotes, and the last cell.
local function rows_of(page)
  local rows = {}
  for line in page:gmatch "\n(|[^\n]+)" do
    local first, last = line:match "^| (`.-) |", line:gsub("\\|", "\1"):match "| ([^|]-) |$"
    for code in (first or ""):gmatch "`([^`]+)`" do
      rows[#rows + 1] = { code = code, text = last and last:gsub("\1", "|"):gsub("%[(.-)%]%(.-%)", "%1") or "" }
    end
  end
  return rows
end

-- What the page says of a field, by its name.
local function said(page, from, to)
  local _, at = page:find(from, 1, true)
  local words = {}
  for _, row in ipairs(rows_of(page:sub(at, (page:find(to, at, true))))) do
    local name = row.code:match "^[%a_]+"
    words[name or ""] = words[name or ""] or row.text
  end
  return words
end

-- The fields that are accepted where `make` has a definition checked, beside the field of this name.
local function accepted(make, beside)
  local found, original = nil, schema.record
  schema.record = function(definition, fields, ...)
    found = fields[beside] and fields or found
    return original(definition, fields, ...)
  end
  make()
  schema.record = original
  return found
end

-- Where a type says more than what is checked.
local BETTER <const> = {
  actions = "skillrt.ActionDefinition[]", phases = "skillrt.PhaseDefinition[]",
  run = "fun(state: table, ctx: skillrt.ctx, item: any, index: integer?): ...", state = "table<string, any>",
  prepare = "fun(state: table, ctx: skillrt.ctx): ...", cleanup = "fun(state: table, ctx: skillrt.ctx, ended: table)",
}

local function class(out, name, fields, words)
  out[#out + 1] = ("\n---@class %s"):format(name)
  local list = {}
  for field in pairs(fields) do
    list[#list + 1] = not fields[field].ours and field or nil
  end
  table.sort(list)
  for _, field in ipairs(list) do
    local row = fields[field]
    local optional = not row.required and "?" or ""
    out[#out + 1] = ("---@field %s%s %s %s"):format(field, optional, BETTER[field] or type_of(row), words[field] or ""):gsub("%s+$", "")
  end
end

---The file as it has to be.
---@return string
function M.text()
  local skillrt = require "skillrt"
  local skills, steps = read "docs/write/skills.md", read "docs/write/steps.md"
  local one = { { id = "a", run = function() end } }
  local function make(definition)
    return function() skillrt.skill(definition) end
  end
  local actions = { name = "types", actions = one }
  local phases = { name = "types", phases = one }
  local out = { "---@meta skillrt", "-- Written by docs/types.lua (make types). An editor with lua-language-server reads it.", "",
    "local skillrt = {}" }
  local of_action, of_phase = said(skills, "## Actions", "## Phases"), said(skills, "## Phases", "## Steps and calls")
  class(out, "skillrt.SkillDefinition", accepted(make(actions), "strategy"), said(skills, "## A skill", "## Actions"))
  class(out, "skillrt.ActionDefinition", accepted(make(actions), "effects"), of_action)
  class(out, "skillrt.PhaseDefinition", accepted(make(phases), "effects"),
    setmetatable(of_phase, { __index = of_action }))
  out[#out + 1] = "\n---@class skillrt.ctx"
  local seen = {}
  for _, page in ipairs { skills, steps } do
    for part in page:gmatch "\n| `ctx%.` |.-\n\n" do
      for _, row in ipairs(rows_of(part)) do
        local name, rest = row.code:match "^([%a_.]+)(.*)$"
        name = name and name:match "^[%a_]+"
        if name and name ~= "ctx" and not seen[name] then
          seen[name] = true
          local kind = row.code:find "%." and "table" or rest == "" and "any" or "fun(...): ..."
          out[#out + 1] = ("---@field %s %s `%s`: %s"):format(name, kind, row.code, row.text)
        end
      end
    end
  end
  for _, line in ipairs { "", "---@param definition skillrt.SkillDefinition", "---@return skillrt.Skill",
    "function skillrt.skill(definition) end", "", "---@class skillrt.Skill", "---@field run fun(self, options: table?): table?, string?, string?",
    "---@field open fun(self, options: table?): skillrt.OpenRun?, string?, string?", "", "---@class skillrt.OpenRun",
    "---@field work_dir string", "---@field turn fun(self): boolean", "---@field wait_fd fun(self): integer",
    "---@field wait_ms fun(self): integer", "---@field stop fun(self)", "---@field result fun(self): table?",
    "---@field questions fun(self): table[]", "---@field answer fun(self, value: any, question: integer?): true?, string?",
    "---@field event fun(self, name: string, value: any?, id: string?): true?, string?", "---@field close fun(self)",
    "", "---@param definition table  { name, agents, run = function(ctx) ... end }", "---@return skillrt.Skill",
    "function skillrt.workflow(definition) end", "", "---@param path string", "---@return skillrt.Skill?",
    "---@return string? message", "function skillrt.load(path) end", "", "---@param dir string", "---@param options table?",
    "---@return table? result", "---@return string? message", "function skillrt.resume(dir, options) end", "",
    "return skillrt" } do
    out[#out + 1] = line
  end
  return table.concat(out, "\n") .. "\n"
end

if arg and arg[0] and arg[0]:find "docs/types.lua$" then
  local file <close> = assert(io.open("docs/skillrt.d.lua", "wb"))
  assert(file:write(M.text()))
end

return M
