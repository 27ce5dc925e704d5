-- document/check/subject.lua: what is checked: whatever is at a path, or an existing skill.
--
-- A script is run to get its skill, everything else is only read. Called by document/check/init.lua and
-- document/check/model.lua.
local files = require "skillrt.base.files"

local M = {}

local MAX_TEXT = 16 << 20

---@class skillrt.check.Subject
---@field path string?
---@field dir string
---@field kind string
---@field name string?
---@field definition table?   a definition or a skill
---@field refused { place: skillrt.check.Place, what: string }?  its script gives no skill: no run can start
---@field config table?
---@field tree skillrt.load.Tree?
---@field prose skillrt.load.Prose?
---@field skill_md table?
---@field specs table[]?
---@field place fun(key: string): skillrt.check.Place

-- `name`: its name in findings. If it gives no skill: also what is wrong.
local function from_script(path, name)
  local loaded, message = require("skillrt.document.load").script(path, { sees = true })
  local subject = { path = path, dir = files.dirname(path), kind = "script" }
  function subject.place()
    return { file = name or path }
  end
  if loaded then
    subject.definition, subject.name = loaded, loaded.name
  else
    local text = message --[[@as string]]
    text = text:sub(1, #path + 2) == path .. ": " and text:sub(#path + 3) or text
    local line = tonumber(text:match("^[^\n:]*:(%d+):"))
    subject.refused = { place = { file = name or path, line = line }, what = (text:gsub("^[^\n:]-:%d+: ", "")) }
  end
  return subject
end

-- The ids of a definition's actions and phases, in their order.
local function ids_of(definition)
  local ids = {}
  for _, field in ipairs { "actions", "phases" } do
    for _, one in ipairs(definition and definition[field] or {}) do
      ids[#ids + 1] = type(one) == "table" and tostring(one.id) or "?"
    end
    ids[#ids + 1] = ""
  end
  return table.concat(ids, "\n")
end

-- The skill.lua of a folder is what runs; the other documents are its input. If it runs what they say, findings point
-- into them; if it gives no skill, errors in them may be the reason.
local function use_script(document)
  local script = from_script(document.script, "skill.lua")
  document.refused = script.refused
  if script.definition and ids_of(script.definition) ~= ids_of(document.definition) then
    document.kind, document.place = "script", script.place
  end
  document.definition, document.name = script.definition or document.definition, script.name or document.name
end

local function from_skill(given)
  return {
    kind = "skill",
    dir = given.dir or ".",
    name = given.name,
    definition = given,
    place = function()
      return { file = given.source }
    end,
  }
end

---@param given string|table  a path, a definition or a skill
---@param found skillrt.Findings
---@return skillrt.check.Subject? subject
---@return string? message
---@return string? code
function M.of(given, found)
  if type(given) == "table" then
    return from_skill(given)
  end
  local info, message, code = files.stat(given)
  local kind = require("skillrt.document.kind").of(given)
  if not info then
    return nil, message, code
  elseif kind == "workflow" then -- runs in its realm, which calls no agent and has no access to anything
    return require("skillrt.document.check.workflow").subject(given, found)
  elseif kind == "script" then
    return from_script(given)
  end
  local document
  document, message, code = require("skillrt.document.load").read(given, {})
  if not document then
    return nil, message, code
  end
  for _, one in ipairs(document.findings) do
    found:take(one)
  end
  if document.script then
    local ok, why, cause = require("skillrt.document.gate").pass(given, document)
    if not ok then
      return nil, why, cause
    end
    use_script(document)
  end
  return document
end

-- Texts of files that findings point into, each read once.
local function reader(subject)
  local texts = {}
  return function(file)
    if texts[file] == nil then
      local text = subject.tree and subject.tree:has(file) and subject.tree:read(file)
      texts[file] = text or files.read(file, MAX_TEXT) or files.read(files.join(subject.dir, file), MAX_TEXT) or false
    end
    return texts[file]
  end
end

local function escaped(text)
  return (text:gsub('["\\]', "\\%0"))
end

-- The first line with a text, from a given line on; nil: none.
local function line_of(text, wanted, from)
  local at, line = 1, 1
  while line < (from or 1) do
    at = text:find("\n", at, true)
    if not at then
      return nil
    end
    at, line = at + 1, line + 1
  end
  local found = text:find(wanted, at, true) or text:find(escaped(wanted), at, true)
  return found and line + select(2, text:sub(at, found - 1):gsub("\n", "")) or nil
end

---A function that finds the place of a text in the skill, as precisely as possible.
---@param subject skillrt.check.Subject
---@return fun(text: string?, id: string?, kind: string?): skillrt.check.Place
function M.places(subject)
  local text_of, index = reader(subject), {}
  local definition = subject.definition or {}
  for kind, list in pairs { action = definition.actions or {}, phase = definition.phases or {} } do
    for i, one in ipairs(type(list) == "table" and list or {}) do
      local key = kind == "action" and "autonomous_config.actions[%d]" or "sequential_config.phases[%d]"
      index[kind .. " " .. tostring(type(one) == "table" and one.id)] = { key = key:format(i), one = one }
    end
  end
  local function base(id, kind)
    local known = id and index[kind .. " " .. id]
    if known and subject.kind ~= "script" and subject.kind ~= "skill" then
      return subject.place(known.key), known.one
    end
    local place = subject.place("")
    local text = place.file and id and text_of(place.file)
    local line = text and (line_of(text, '"' .. id .. '"') or line_of(text, "'" .. id .. "'") or line_of(text, id))
    return { file = place.file, line = line }, known and known.one
  end
  return function(wanted, id, kind)
    local place, one = base(id, kind)
    if not wanted then
      return place
    end
    local others = subject.prose and subject.prose.documents or {}
    local prompt = one and type(one.prompt) == "string" and not one.prompt:find "[ \n]" and one.prompt or nil
    for _, file in ipairs { place.file or "", prompt or "", table.unpack(id and {} or others) } do
      local text = file ~= "" and text_of(file)
      local line = text and line_of(text, wanted, file == place.file and place.line or 1)
      if line then
        return { file = file, line = line }
      end
    end
    return place
  end
end

return M
