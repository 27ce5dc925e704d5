-- document/load/tool_sets.lua: what an agent.yml says of its tools: the sets (R95), what their names are bound to, how
-- they are switched; and which of its keys are other programs' (R105).
--
-- What the sets become as steps is agent_yml.lua's, which alone calls it. The names of keys stand in keys.lua.
local json = require "skillrt.base.json"
local keys = require "skillrt.document.load.keys"
local names = require "skillrt.base.names"
local of_skill = require "skillrt.skill.tool_sets"
local tool = require "skillrt.tool"

local M = {}

local KNOWN, SETTINGS = keys.set(keys.AGENT_YML), keys.set(keys.WORKFLOW)
local OF_SET <const>, OF_SWITCHING <const> = keys.set(keys.TOOL_SET), keys.set(keys.SWITCHING)

local function text_list(value, at, what, found)
  local out, seen = {}, {}
  for i, item in ipairs(value) do
    if type(item) ~= "string" or item == "" then
      found:error("tool-set", at(("[%d]"):format(i)), ("%s must hold names of tools"):format(what))
    elseif seen[item] then
      found:warn("tool-set", at(("[%d]"):format(i)), ("%s names %s twice"):format(what, names.show(item)))
    else
      seen[item] = true
      out[#out + 1] = item
    end
  end
  return out
end

-- Keys that nothing reads, each with the one that was meant.
local function tell_unknown(value, known, key, at, found)
  for _, name in ipairs(names.sorted(value)) do
    if not known[name] then
      local meant = names.meant(name, known)
      local what = ("key %s is not known%s"):format(names.show(name), meant)
      found[meant ~= "" and "warn" or "note"](found, "unknown-key", at(key .. name), what, "skillrt does not use it")
    end
  end
end

local IS <const> = {
  string = function(value) return type(value) == "string" end,
  boolean = function(value) return type(value) == "boolean" end,
  object = function(value) return type(value) == "table" and (not json.is_array(value) or next(value) == nil) end,
  array = function(value) return type(value) == "table" and (json.is_array(value) or next(value) == nil) end,
}
local CALLED <const> = { string = "a text", boolean = "true or false", object = "an object", array = "a list" }

-- Values of another type than their keys have: refused, as else nobody would look at them.
local function tell_types(value, rows, key, at, found)
  for _, row in ipairs(rows) do
    local one, is = value[row[1]], not row.unread and IS[row[2]]
    if is and one ~= nil and one ~= json.null and not is(one) then
      found:error("agent-yml", at(key .. row[1]), ("%s%s must be %s, not %s"):format(key, row[1], CALLED[row[2]],
        names.show(one)))
    end
  end
end

local function tools_of(one, id, key, at, found)
  if one.tools == nil or one.tools == json.null then
    local fix = "write `tools: []` for all tools, or list them"
    found:warn("tool-set", at(key), ("tool set %s has no tools"):format(id), "it stands for all tools", fix)
  elseif type(one.tools) ~= "table" or not json.is_array(one.tools) then
    found:error("tool-set", at(key .. ".tools"), ("tool set %s: tools must be a list"):format(id))
  else
    local tools = text_list(one.tools, function(more)
      return at(key .. ".tools" .. more)
    end, "tool set " .. id, found)
    return #tools > 0 and tools or nil
  end
end

local function tool_set(one, key, at, found)
  if type(one) ~= "table" or json.is_array(one) then
    found:error("tool-set", at(key), "a tool set must hold name, description and tools, not " .. names.show(one))
    return nil
  end
  local id, problem = names.id(one.name)
  if not id then
    found:error("tool-set", at(key .. ".name"), ("its name %s"):format(problem), "the set was not read", "name it")
    return nil
  end
  tell_unknown(one, OF_SET, key .. ".", at, found)
  local others = { description = one.description, prompt = one.prompt, optional = one.optional, bind = one.bind }
  tell_types(others, keys.TOOL_SET, key .. ".", at, found)
  local set = { name = id, description = type(one.description) == "string" and one.description or id }
  set.prompt = type(one.prompt) == "string" and one.prompt ~= "" and one.prompt or nil
  set.optional = type(one.optional) == "table" and text_list(one.optional, function(more)
    return at(key .. ".optional" .. more)
  end, "tool set " .. id, found) or nil
  set.tools = tools_of(one, id, key, at, found)
  set.bind = type(one.bind) == "table" and one.bind or nil
  return set
end

-- Names of what may be missing that nothing asks for: misspelt, most likely.
local function tell_idle(list, asked, at, what, found)
  for _, name in ipairs(list or {}) do
    if not asked[name] then
      local meant = names.meant(name, asked)
      local text = ("%s: no tool set names %s%s"):format(what, names.show(name), meant)
      found[meant ~= "" and "warn" or "note"](found, "tool-set", at, text)
    end
  end
end

-- What may be missing of a set that does not say (R105).
local function known_optional(set)
  local out = {}
  for _, name in ipairs(set.tools or {}) do
    for _, one in ipairs(of_skill.OPTIONAL) do
      out[#out + 1] = name == one and name or nil
    end
  end
  return out[1] and out or nil
end

---The tool sets of an agent.yml.
---@param document table
---@param at fun(key: string): { file: string, line: integer? }
---@param found skillrt.Findings
---@return skillrt.ToolSet[]
function M.read(document, at, found)
  local sets, seen = {}, {}
  local list = document.skills
  if type(list) ~= "table" or #list == 0 then
    found:error("tool-set", at "skills", "has no skills", "there is nothing to run", "list tool sets below `skills:`")
    return sets
  end
  for i, one in ipairs(list) do
    local key = ("skills[%d]"):format(i)
    local set = tool_set(one, key, at, found)
    if set and seen[set.name] then
      found:error("tool-set", at(key), ("tool set %s stands here a second time"):format(set.name), "the first is used")
    elseif set then
      seen[set.name] = true
      sets[#sets + 1] = set
      if document.optional_tools == nil then
        set.optional = set.optional or known_optional(set)
      end
    end
  end
  return sets
end

local MAX_BYTES <const> = 1 << 20

---The tool sets of an agent.yml, for a script that has tools of its own: relative to where it runs, or beside the
---script. The file is pinned with the run. Raises where it cannot be read.
---@param path string
---@return skillrt.ToolSet[]
function M.from_path(path)
  local drawn, files = require "skillrt.base.drawn", require "skillrt.base.files"
  local loading = drawn.loading
  local beside = loading and not files.is_absolute(path) and files.join(loading.dir, path)
  path = beside and files.stat(beside) and beside or path
  local text, message = files.read(path, MAX_BYTES)
  local document, lines
  if text then
    document, lines = require("skillrt.document.load.yaml").parse(text)
    message = ("%s: %s"):format(path, type(document) == "table" and "?" or lines or "holds no keys")
  end
  if type(document) ~= "table" then
    error("skillrt.tool_sets: " .. message, 0)
  end
  local found = require("skillrt.document.findings").new()
  local sets = M.read(document, function(key)
    return { file = path, line = require("skillrt.document.load.json_lines").nearest(lines, key) }
  end, found)
  if found:errors() then
    error("skillrt.tool_sets: " .. found:errors(), 0)
  elseif loading then
    local here = (files.join(files.join(files.current(), loading.dir), ""):gsub("/%./", "/"))
    local whole = files.join(files.current(), (path:gsub("^%./", "")))
    local name = whole:sub(1, #here) == here and whole:sub(#here + 1) or whole
    loading.pins["helper " .. name] = files.digest(text)
  end
  return sets
end

-- How agents with tools of their own call them: Read, Bash, mcp__server__tool.
local function is_host_tool(name)
  return type(name) == "string" and (name:find("^%u%a*$") or name:find("^mcp__[%w_-]+$")) ~= nil
end

-- What the names of a set, or of all, stand for: tools that are built in, which are declared by being named, or the
-- agent's own.
local function bound(binding, tools, at, found)
  local out = {}
  for _, name in ipairs(type(binding) == "table" and names.sorted(binding) or { "" }) do
    local given = type(binding) == "table" and binding[name]
    local list = type(given) == "string" and { given } or type(given) == "table" and given or { false }
    for _, one in ipairs(list) do
      if tool.BUILT_IN[one] then
        tools[one] = true
      elseif not is_host_tool(one) then
        local asked = names.show(one)
        local what = ("bind: %s stands for %s, which is not built in%s"):format(name, asked,
          type(one) == "string" and names.suggest(one, tool.BUILT_IN) or "")
        found:error("tool-set", at("bind." .. name), what)
      end
    end
    out[name] = list
  end
  return out
end

local function bind(document, sets, definition, at, found)
  local tools = {}
  if document.bind ~= nil then
    definition.bind = bound(document.bind, tools, at, found)
  end
  for _, set in ipairs(sets) do
    set.bind = set.bind and bound(set.bind, tools, at, found)
  end
  definition.tools = next(tools) and tools or nil
end

-- The names of sets below a key of `switching`.
local function sets_in(given, key, sets, at, found)
  local known = {}
  for _, set in ipairs(sets) do
    known[set.name] = true
  end
  for _, name in ipairs(type(given) == "table" and given or { given }) do
    if not known[name] then
      found:error("tool-set", at("switching." .. key), ("switching: %s: there is no tool set %s%s"):format(key,
        names.show(name), names.suggest(tostring(name), known)))
    end
  end
  return given
end

---How the sets are switched, and what their names stand for; both become parts of the definition.
---@param document table
---@param sets skillrt.ToolSet[]
---@param definition table
---@param at fun(key: string): { file: string, line: integer? }
---@param found skillrt.Findings
---@return { by: string?, order: string[]?, verify: string?, repair: string? } given
function M.switching(document, sets, definition, at, found)
  bind(document, sets, definition, at, found)
  if type(document.optional_tools) == "table" then
    definition.optional_tools = text_list(document.optional_tools, function(more)
      return at("optional_tools" .. more)
    end, "optional_tools", found)
  end
  local asked = {}
  for _, set in ipairs(sets) do
    for _, name in ipairs(set.tools or {}) do
      asked[name] = true
    end
  end
  for _, set in ipairs(sets) do
    tell_idle(set.optional, asked, at "skills", ("tool set %s: optional"):format(set.name), found)
  end
  tell_idle(definition.optional_tools, asked, at "optional_tools", "optional_tools", found)
  local given, out, own = document.switching, {}, {}
  if type(given) ~= "table" then
    return out
  end
  tell_unknown(given, OF_SWITCHING, "switching.", at, found)
  tell_types(given, keys.SWITCHING, "switching.", at, found)
  for key in pairs(OF_SWITCHING) do
    if key == "order" or key == "verify" or key == "repair" then
      out[key] = given[key] and sets_in(given[key], key, sets, at, found)
    else
      own[key] = given[key]
    end
  end
  out.by, definition.switching = own.by, own
  if out.by and out.by ~= "orchestrator" and (out.order or out.verify or out.repair) then
    found:error("tool-set", at "switching", "switching: order, verify and repair are the orchestrator's",
      "with another `by` the agent goes from set to set", "leave them out, or `by`")
  end
  return out
end

-- What belongs to other programs: told, so that nobody takes it for obeyed.
local function tell_unread(document, at, found)
  for _, name in ipairs(names.sorted(document)) do
    if KNOWN[name] and KNOWN[name].unread then
      found:note("not-read", at(name), ("%s: is not read by skillrt"):format(name), KNOWN[name].unread)
    end
  end
  for _, name in ipairs(type(document.workflow) == "table" and names.sorted(document.workflow) or {}) do
    if not SETTINGS[name] then
      local meant = names.meant(name, SETTINGS)
      found:note("not-read", at("workflow." .. name), ("workflow.%s: is not read by skillrt%s"):format(name, meant),
        "it is a setting of the program that the file was written for")
    end
  end
end

---Tells keys that nothing reads, keys that are other programs', values of another type than they are read as, and a
---secret in the file.
---@param document table
---@param at fun(key: string): { file: string, line: integer? }
---@param found skillrt.Findings
function M.tell_keys(document, at, found)
  tell_unknown(document, KNOWN, "", at, found)
  local others = { name = document.name, description = document.description, workflow = document.workflow,
    optional_tools = document.optional_tools, switching = document.switching }
  tell_types(others, keys.AGENT_YML, "", at, found) -- of `skills` and `bind` their readers say it
  if type(document.workflow) == "table" then
    tell_types(document.workflow, keys.WORKFLOW, "workflow.", at, found)
  end
  tell_unread(document, at, found)
  local secret = type(document.llm) == "table" and document.llm["api-key"]
  if type(secret) == "string" and secret ~= "" and not secret:find "^%${[%w_:.-]+}$" then
    local fix = "write ${env:NAME} and set NAME in the environment"
    found:warn("secret", at "llm.api-key", "an API key stands in the file", "whoever reads the file has it", fix)
  end
end

return M
