-- report/tokens.lua: how much of each request a skill's tools take, with all tools sent and with each set; and how
-- many calls of a run were to tools that were not present, by set (R97, R112, F56).
--
-- Bytes are those sent to the provider; tokens are an estimate, labelled as one. Knows skills and journals, changes
-- nothing. Called by cli/command/tokens.lua.

local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local runner = require("skillrt.run.runner")
local sets_of = require("skillrt.skill.tool_sets")
local tables = require("skillrt.base.tables")

local M = {}

M.ALL = "all tools"

---How tokens are counted.
M.TOKENIZER = "bytes / 4, an estimate"

---The schemas in a file: a list of tools as an API or an MCP server gives it.
---@param text string
---@return table<string, table>|nil tools  by name
---@return string? message
function M.schemas(text)
  local value, why = json.decode(text)
  if value == nil then
    return nil, tostring(why)
  end
  local out, list = {}, type(value) == "table" and (value.tools or value) or nil
  for i, one in ipairs(tables.object(list)) do
    local given = type(one) == "table" and (type(one["function"]) == "table" and one["function"] or one) or {}
    if type(given.name) ~= "string" then
      return nil, ("its tool %d has no name"):format(i)
    end
    out[given.name] = { name = given.name, description = given.description or given.name,
      input = given.input_schema or given.parameters or given.inputSchema or { type = "object" } }
  end
  if next(out) == nil then
    return nil, "holds no list of tools: { name, description, input_schema }"
  end
  return out
end

-- The model whose API defines the bytes: the skill's first.
local function model_of(skill)
  for _, name in ipairs(names.sorted(skill.agents or {})) do
    if skill.agents[name].wire then
      return skill.agents[name]
    end
  end
  return assert(require("skillrt.agent").check({ kind = "anthropic" }, "skillrt"))
end

-- The names of all tools; a tool in no set is never sent.
local function all_names(skill)
  local all, seen = {}, {}
  local lists = { skill.tool_sets and sets_of.union(skill) or names.sorted(skill.tools or {}) }
  for _, set in ipairs(skill.tool_sets or {}) do
    lists[#lists + 1] = sets_of.names(skill, set)
  end
  for _, list in ipairs(lists) do
    for _, name in ipairs(list) do
      all[#all + 1] = not seen[name] and name or nil
      seen[name] = true
    end
  end
  return all
end

---A row for all tools, and one for each set.
---@param skill skillrt.Skill
---@param schemas table<string, table>  of tools that the skill only names
---@param prompt_of fun(set: skillrt.ToolSet|nil): integer|nil  bytes of the longest prompt of a step with it
---@return { rows: table[], written: integer, model: string }  a row: { name, tools, bytes, tokens, prompt, saved:
---  percent of what all take }; written: how many tools have no schema here
function M.of(skill, schemas, prompt_of)
  local agent, all, rows, made, written = model_of(skill), all_names(skill), {}, {}, 0
  for i = 0, #(skill.tool_sets or {}) do
    local set, tools = (skill.tool_sets or {})[i], {}
    for k, name in ipairs(set and sets_of.names(skill, set) or all) do
      tools[k] = (skill.tools or {})[name] or schemas[name] or made[name]
      if not tools[k] then
        tools[k] = { name = name, description = name, input = { type = "object", properties = {} } }
        made[name], written = tools[k], written + 1
      end
    end
    local body = agent.wire.body(agent, { tools = tools, model = "m" })
    local bytes = body.tools and #assert(json.encode(body.tools, { sorted = true })) or 0
    rows[i + 1] = { name = set and set.name or M.ALL, tools = #tools, bytes = bytes, tokens = (bytes + 3) // 4,
      prompt = prompt_of(set), saved = rows[1] and 100 * (1 - bytes / math.max(1, rows[1].bytes)) or nil }
  end
  return { rows = rows, written = written, model = agent.kind }
end

---The tool calls of a run's models, and how many were to absent tools, by the active set.
---@param dir string
---@return table<string, { calls: integer, absent: integer }>|nil by_set
---@return string? message
---@return string? code
function M.calls(dir)
  local active, by_set = {}, {}
  local books, message, code = runner.read(dir, function(record)
    if record.t == "start" then
      active[record.step] = record.tool_set or M.ALL
    elseif record.t == "switch" and not record.refused and not record.advised then
      active[record.step] = record.to
    elseif record.t == "tool" and active[record.step] then
      local row = by_set[active[record.step]] or { calls = 0, absent = 0 }
      by_set[active[record.step]] = row
      row.calls, row.absent = row.calls + 1, row.absent + (record.absent and 1 or 0)
    end
  end)
  return books and by_set, message, code
end

return M
