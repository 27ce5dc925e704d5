-- skill/workflow/recorded.lua: what agents answered in a run of another runtime, which `skillrt adopt` wrote beside a
-- script: taken where the script asks the same prompt again, each once, in the order of their agents.
--
-- Data that others wrote: it is an answer only where it is one for this agent, as if it had given it now. Pure but for
-- reading that file.

local condition = require("skillrt.agent.condition")
local files = require("skillrt.base.files")
local json = require("skillrt.base.json")
local json_schema = require("skillrt.base.json_schema")
local tables = require("skillrt.base.tables")
local trim = require("skillrt.base.text").trim

local M = {}

---The largest of these files, in bytes.
M.MAX_FILE = 256 << 20

---Where they lie, by the script's path.
---@param path string
---@return string
function M.path(path)
  return path .. ".adopted.json"
end

---By what a prompt is known again.
---@param prompt string
---@return string
function M.key(prompt)
  return files.digest(trim(prompt))
end

-- Whether a value is what an agent could have answered: the value itself, as the script gets it.
local function as_answer(value, schema)
  if not schema then
    return type(value) == "string" and value:find("%S") and not condition.is_told(value) and value or nil
  end
  value = type(value) == "string" and json.decode(value) or value
  return json_schema.check(schema, "schema", true) and json_schema.judge(schema, value) and value or nil
end

---@class skillrt.Recorded
---@field take fun(ask: table): { value: any, source: string }|false  the next result for what is asked
---@field drop fun(ask: table, source: string)  it was taken before

---What lies beside a script; nil: nothing does.
---@param path string
---@return (fun(ask: table): skillrt.Recorded|nil)|nil  nil: this prompt was never answered
function M.beside(path)
  local given = json.decode(files.read(M.path(path), M.MAX_FILE) or "")
  local by = {}
  for _, row in ipairs(tables.object(tables.object(given).results)) do
    by[row.prompt] = by[row.prompt] or {}
    table.insert(by[row.prompt], row)
  end
  return next(by) and function(ask)
    local rows = by[M.key(ask.prompt)]
    return rows and {
      take = function()
        for i, row in ipairs(rows) do
          local value = as_answer(row.value, ask.options.schema)
          if value ~= nil then
            table.remove(rows, i)
            return { value = value, source = row.source }
          end
        end
        return false
      end,
      drop = function(source)
        for i, row in ipairs(rows) do
          if row.source == source then
            table.remove(rows, i)
          end
        end
      end,
    }
  end or nil
end

return M
