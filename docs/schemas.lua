-- schemas.lua: `make schemas`: docs/schema/*.json from the one table of keys (lua/skillrt/document/form.lua), and
-- catalog.json, which lists the schema of each kind in SchemaStore's form.
--
-- A url is relative to the catalog: whoever puts the folder on a server puts its address before it. Run from the top of
-- the tree.
local form = require "skillrt.document.form"
local json = require "skillrt.base.json"

local M = {}

-- ---- JSON with keys in an order: an object is { keys = { ... }, ["key"] = value } ----

local function object(...)
  local out = { keys = {} }
  for i = 1, select("#", ...), 2 do
    local key, value = select(i, ...)
    if value ~= nil then
      out.keys[#out.keys + 1], out[key] = key, value
    end
  end
  return out
end

local function put(to, key, value)
  if value ~= nil then
    to.keys[#to.keys + 1], to[key] = key, value
  end
  return to
end

local function encoded(value, indent)
  local inner, lines = indent .. "  ", {}
  if type(value) ~= "table" then
    return assert(json.encode(value))
  elseif value.keys then
    for i, key in ipairs(value.keys) do
      lines[i] = ("%s%s: %s"):format(inner, json.encode(key), encoded(value[key], inner))
    end
    return #lines > 0 and "{\n" .. table.concat(lines, ",\n") .. "\n" .. indent .. "}" or "{}"
  end
  for i, item in ipairs(value) do
    lines[i] = inner .. encoded(item, inner)
  end
  return #lines > 0 and "[\n" .. table.concat(lines, ",\n") .. "\n" .. indent .. "]" or "[]"
end

-- ---- types ----

local NO_DOTS <const> = object("pattern", "[.][.]")

local function name_of(pattern, least, most)
  return object("type", "string", "minLength", least, "maxLength", most, "pattern", pattern,
    "not", object("anyOf", { object("pattern", "--"), object("pattern", "-$") }))
end

local LEAVES <const> = {
  any = object(), unread = object(), text = object("type", "string"), label = object("type", "string", "pattern", "[^ ]"),
  words = object("type", "string"), truth = object("type", "boolean"), number = object("type", "number", "minimum", 0),
  count = object("type", "integer", "minimum", 1), whole = object("type", "integer", "minimum", 0),
  rank = object("type", "number"), object = object("type", "object"),
  tools = object("anyOf", { object("type", "string"), object("type", "array", "items", object("type", "string")) }),
  id = object("type", "string", "maxLength", 64, "pattern", "^[A-Za-z0-9][A-Za-z0-9._-]*$", "not", NO_DOTS),
  key = object("type", "string", "minLength", 1),
  path = object("type", "string", "minLength", 1, "maxLength", 255, "pattern", "^[^/]", "not", NO_DOTS),
  name = name_of("^[a-z][a-z0-9-]*$", 3, 30), skill_name = name_of("^[a-z0-9][a-z0-9-]*$", 1, 64),
  about = object("type", "string", "minLength", 1, "maxLength", 1024),
  description = object("type", "string", "minLength", 1, "maxLength", 1024),
  compatibility = object("type", "string", "minLength", 1, "maxLength", 500),
}

local function copy(value)
  local out = object()
  for _, key in ipairs(value.keys) do
    put(out, key, value[key])
  end
  return out
end

-- By the type of a limit: what a number must be.
local OF_LIMIT <const> = { positive = { "integer", "minimum", 1 }, count = { "integer", "minimum", 0 },
  seconds = { "number", "exclusiveMinimum", 0 }, amount = { "number", "minimum", 0 } }

-- Whether a text may not be empty: a key that is required says something.
local function one_of(row, used)
  local kind = form.KINDS[row.type]
  if row.limit then
    local limit = row.limit
    local out = object("type", table.unpack(OF_LIMIT[limit.type]))
    if limit.map then
      out = object("type", "object", "additionalProperties", out)
    end
    put(out, "description", limit.text:gsub("`", "") .. ".")
    if limit.default ~= nil then
      put(out, "default", limit.default)
    end
    return out
  elseif row.choices then
    local words = {}
    for word in row.type:gmatch "[^|]+" do
      words[#words + 1] = word
    end
    return object("enum", words)
  elseif kind then
    used[row.type] = true
    local ref = object("$ref", "#/$defs/" .. row.type)
    return row.text and object("anyOf", { object("type", "string"), ref }) or ref
  end
  local out = copy(assert(LEAVES[row.type], row.type))
  if row.mark == "!" and row.type == "text" then
    put(out, "minLength", 1)
  end
  return out
end

local OLDER <const> = "^Older place"

-- What is null is missing.
local function or_null(out)
  if out.enum then
    out.enum[#out.enum + 1] = json.null
  elseif out.anyOf then
    out.anyOf[#out.anyOf + 1] = object("type", "null")
  elseif out.type then
    out.type = { out.type, "null" }
  end
  return out
end

local function property(row, used)
  local out = one_of(row, used)
  if row.many == "[" then
    local lists = { object("type", "array", "items", out), object("$ref", "#/$defs/no_items") }
    used.no_items = true
    if row.type == "text" or row.type == "label" then
      table.insert(lists, 2, object("type", "string"))
    end
    out = object("anyOf", lists)
  elseif row.many == "{" and not row.limit then
    out = object("type", "object", "additionalProperties", out)
  elseif row.type == "machine" then
    out = object("anyOf", { object("const", "standard"), out })
  end
  out = row.mark == "!" and out or or_null(out)
  put(out, "description", not row.limit and row.doc ~= "" and row.doc or nil)
  put(out, "default", row.default ~= "" and json.decode(row.default) or nil)
  return put(out, "deprecated", row.doc and row.doc:find(OLDER) and true or nil)
end

-- Whether a schema is of the kind that other programs' keys belong to, too; all others refuse keys that nothing reads,
-- but for an author's own, which begin with x_.
local function kind_of(name, used)
  local kind, properties, required = form.KINDS[name], object(), {}
  for _, row in ipairs(kind) do
    put(properties, row.key, property(row, used))
    required[#required + 1] = row.mark == "!" and row.key or nil
  end
  local out = object("type", "object", "properties", properties)
  put(out, "required", #required > 0 and required or nil)
  if not kind.is_open then
    put(out, "patternProperties", object("^[xX][_-]", true, "^[$]", true))
    put(out, "additionalProperties", false)
  end
  return out
end

local function needs(...)
  local list = {}
  for i, key in ipairs { ... } do
    list[i] = object("required", { key })
  end
  return object("anyOf", list)
end

local function where_mode(mode, required, ...)
  return object("if", put(object("properties", object("execution_mode", object("const", mode))), "required",
    required and { "execution_mode" } or nil), "then", needs(...))
end

-- What a config of a mode cannot be without.
local function add_modes(schema)
  put(schema, "allOf", { where_mode("autonomous", true, "autonomous_config", "actions"),
    where_mode("hybrid", true, "autonomous_config", "actions"),
    object("if", object("properties", object("execution_mode", object("const", "sequential"))),
      "then", needs("sequential_config", "phases", "autonomous_config", "actions")),
    where_mode("sequential", true, "sequential_config", "phases") })
end

local KINDS <const> = {
  { "config", "skill-config", "skill-config.json", "What a skill is: its phases, its actions, and what they are made from.",
    { "skill-config.json" } },
  { "workflow", "workflow", "workflow.json", "The phases of a skill in their order.", { "workflow.json" } },
  { "agent_yml", "agent-yml", "agent.yml", "Tool sets as the steps of a skill.", { "agent.yml", "agent.yaml" } },
  { "skill_md", "skill-md", "SKILL.md", "The front matter of a skill.", { "SKILL.md" } },
  { "command", "command", "slash command", "The front matter of a slash command.", { "**/commands/**/*.md" } },
  { "agent_md", "agent", "agent's file", "The front matter of an agent's file.", { "**/agents/*.md" } },
}

local DRAFT <const> = "https://json-schema.org/draft/2020-12/schema"

-- What no row can say.
local MORE <const> = {
  config = add_modes,
  workflow = function(schema)
    schema.properties.phases = object("type", "array", "minItems", 1, "items", object("$ref", "#/$defs/workflow_phase"))
    schema.properties.phases_to_run = object("type", "array", "items", object("type", "string"), "uniqueItems", true)
  end,
  agent_yml = function(schema)
    schema.properties.skills = object("type", "array", "minItems", 1, "items", object("$ref", "#/$defs/tool_set"))
  end,
}

local function schema_of(kind, name, title, about)
  local used, defs, done = {}, object(), {}
  local body = kind_of(kind, used)
  local out = object("$schema", DRAFT, "$id", "urn:skillrt:schema:" .. name, "title", title, "description", about)
  for _, key in ipairs(body.keys) do
    put(out, key, body[key])
  end
  if kind == "config" then
    out.properties.x_skillrt = object("$ref", "#/$defs/extension", "description", out.properties.x_skillrt.description)
  end
  if MORE[kind] then
    MORE[kind](out)
  end
  while next(used) do
    local list = {}
    for one in pairs(used) do
      list[#list + 1] = one
    end
    table.sort(list)
    used = {}
    for _, one in ipairs(list) do
      if one == "no_items" then
        defs.no_items = defs.no_items or object("description", "No items: an empty object is an empty list, as Lua and "
          .. "other writers without lists have it.", "type", "object", "additionalProperties", false)
      elseif not defs[one] then
        defs[one] = kind_of(one, used)
      end
      done[one] = true
    end
    for one in pairs(done) do
      used[one] = nil
    end
  end
  for one in pairs(done) do
    defs.keys[#defs.keys + 1] = one
  end
  table.sort(defs.keys)
  if kind == "config" then -- an agent may be given by words, too
    defs.extension.properties.agent = object("type", { "string", "array", "object" }, "minLength", 1, "description",
      defs.extension.properties.agent.description)
  end
  return #defs.keys > 0 and put(out, "$defs", defs) or out
end

---The files as they have to be: path and text.
---@return table<string, string>
function M.pages()
  local out, listed = {}, {}
  for i, one in ipairs(KINDS) do
    local kind, name, title, about, paths = table.unpack(one)
    listed[i] = object("name", title, "description", about, "fileMatch", paths, "url", name .. ".schema.json")
    out[("docs/schema/%s.schema.json"):format(name)] = encoded(schema_of(kind, name, title, about), "") .. "\n"
  end
  out["docs/schema/catalog.json"] = encoded(object("$schema", "https://json.schemastore.org/schema-catalog.json",
    "version", 1, "schemas", listed), "") .. "\n"
  return out
end

if arg and arg[0] and arg[0]:find "docs/schemas.lua$" then
  for path, text in pairs(M.pages()) do
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(text))
  end
end

return M
