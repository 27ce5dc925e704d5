-- document/load/tool_sets.lua: what an agent.yml says of its tools: the sets (R95), what their names are bound to, how
-- they are switched; and which of its keys are other programs' (R105).
--
-- What the sets become as steps is agent_yml.lua's, which alone calls it. The names of keys stand in keys.lua.
local form = require "skillrt.document.form"
local names = require "skillrt.base.names"
local of_skill = require "skillrt.skill.tool_sets"
local tool = require "skillrt.tool"

local M = {}

-- A list without what stands there a second time.
local function once(list, at, what, found)
  local out, seen = {}, {}
  for i, item in ipairs(list or {}) do
    if seen[item] then
      found:warn("tool-set", at(("[%d]"):format(i)), ("%s names %s twice"):format(what, names.show(item)))
    end
    out[#out + 1] = not seen[item] and item or nil
    seen[item] = true
  end
  return out
end

local function tool_set(one, key, at, found)
  local what = "tool set " .. one.name
  if one.tools == nil then
    found:warn("tool-set", at(key), what .. " has no tools", "it stands for all tools",
      "write `tools: []` for all tools, or list them")
  end
  local function at_tools(more)
    return at(key .. ".tools" .. more)
  end
  local tools = once(one.tools, at_tools, what, found)
  return { name = one.name, description = one.description or one.name, prompt = one.prompt ~= "" and one.prompt or nil,
    optional = one.optional, bind = one.bind, tools = #tools > 0 and tools or nil }
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

---The tool sets of an agent.yml, whose keys are checked first; none where one of them is wrong.
---@param document table
---@param at fun(key: string): { file: string, line: integer? }
---@param found skillrt.Findings
---@return skillrt.ToolSet[]
function M.read(document, at, found)
  local sets, seen = {}, {}
  if not form.check("agent_yml", document, found, at) then
    return sets
  elseif #document.skills == 0 then
    found:error("tool-set", at "skills", "has no skills", "there is nothing to run", "list tool sets below `skills:`")
  end
  for i, one in ipairs(document.skills) do
    local key = ("skills[%d]"):format(i)
    if seen[one.name] then
      found:error("tool-set", at(key), ("tool set %s stands here a second time"):format(one.name), "the first is used")
    else
      local set = tool_set(one, key, at, found)
      seen[one.name], sets[#sets + 1] = true, set
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
  definition.optional_tools = document.optional_tools and once(document.optional_tools, function(more)
    return at("optional_tools" .. more)
  end, "optional_tools", found)
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
  if not given then
    return out
  end
  for _, row in ipairs(form.KINDS.switching) do
    local key = row.key
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

---Tells an API key that stands in the file.
---@param document table
---@param at fun(key: string): { file: string, line: integer? }
---@param found skillrt.Findings
function M.tell_secret(document, at, found)
  local secret = document.llm and document.llm["api-key"]
  if type(secret) == "string" and secret ~= "" and not secret:find "^%${[%w_:.-]+}$" then
    local fix = "write ${env:NAME} and set NAME in the environment"
    found:warn("secret", at "llm.api-key", "an API key stands in the file", "whoever reads the file has it", fix)
  end
end

return M
