-- skill/workflow/recorded.lua: the answers of agents in a run of another runtime, which `skillrt adopt` wrote next to
-- a script: used when the script asks the same prompt again, each once, in the order of their agents.
--
-- Data from others: an answer counts only if it is valid for this agent, as if it had just given it. Pure but for
-- reading that file.

local condition = require("skillrt.agent.condition")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local tables = require("skillrt.base.tables")
local trim = require("skillrt.base.text").trim

local M = {}

---Their file: the script's path with this suffix.
M.BESIDE = ".adopted.json"

local MAX_FILE <const> = 1 << 30

-- Whether an agent could have answered with a value: returns the value itself, as the script gets it.
local function as_answer(value, schema)
  if not schema then
    return type(value) == "string" and value:find("%S") and not condition.is_told(value) and value or nil
  end
  value = type(value) == "string" and json.decode(value) or value
  return json_schema.check(schema, "schema", true) and json_schema.judge(schema, value) and value or nil
end

-- The options that are part of qwen-code's keys, under its names.
local COUNTED <const> = { schema = "schema", model = "model", effort = "effort", agent_type = "agentType",
  tools = "tools" }

-- What follows the previous key in the digest that is a key of qwen-code: its JSON has the keys in order.
local function behind(ask)
  local options = { isolation = ask.options.isolation and "worktree" }
  for ours, theirs in pairs(COUNTED) do
    options[theirs] = ask.options[ours]
  end
  return ("\0%s\0%s"):format(ask.prompt, assert(json.encode(options, { sorted = true })))
end

---The answers next to a script; nil: there are none. Returns a function that gives the next result for a prompt,
---false if none is left that fits, nil if such a prompt was never answered. With a source: that one was used before.
---@param path string
---@return (fun(ask: table, source: string?): { value: any, source: string }|false|nil)|nil
function M.beside(path)
  local given, by = tables.object(json.decode(files.read(path .. M.BESIDE, MAX_FILE) or "")), {}
  for _, one in ipairs(tables.object(given.results)) do
    local row = tables.object(one)
    local key = tostring(row.prompt)
    by[key], row.source = by[key] or {}, tostring(row.source)
    table.insert(by[key], row)
  end
  local before, found = tables.object(given.before), {}
  local function rows_of(ask)
    if not before[1] then
      return by[files.digest(trim(ask.prompt))]
    end
    local text, rows = behind(ask), {}
    for _, key in ipairs(not found[text] and before or {}) do
      tables.append(rows, by["v2:" .. files.digest(tostring(key) .. text)] or {})
    end
    found[text] = found[text] or rows
    return found[text][1] and found[text] or nil
  end
  return next(by) and function(ask, source)
    local rows = rows_of(ask)
    for _, row in ipairs(rows or {}) do
      row.is_taken = row.is_taken or row.source == source
      local value = nil
      if not row.is_taken and not source then
        value = as_answer(row.value, ask.options.schema)
      end
      if value ~= nil then
        return { value = value, source = row.source }
      end
    end
    return rows and false
  end or nil
end

return M
