-- limits.lua: writes the limits (lua/skillrt/skill/limit/) where people and programs read them: make limits
--
-- docs/scripting.md has them between two marks, docs/schema/skill-config.schema.json as the properties of
-- x_skillrt.limits, examples/systemd as exit codes. tests/lua/skill/limits_spec.lua checks that all are current.

local exit_codes = require "skillrt.cli.exit_codes"
local limits = require "skillrt.skill.limits"

local M = {}

-- A cell for what a run does at a limit: its status, reason and exit code.
local function ending(row)
  if not row.status then
    return ""
  end
  return ("`%s` (`%s`), %d"):format(row.status, row.reason, limits.code(row))
end

---The table of docs/scripting.md.
---@return string
function M.table()
  local lines = { "| field | default | what it holds | ends the run as, exit code |", "|---|---|---|---|" }
  for _, row in ipairs(limits.TABLE) do
    lines[#lines + 1] = ("| `limits.%s` | %s | %s | %s |"):format(row.name, row.default or "none",
      row.text, ending(row))
  end
  return table.concat(lines, "\n") .. "\n"
end

local function scalar(value)
  return type(value) == "string" and ("%q"):format(value) or tostring(value)
end

-- { key, value } in JSON, as it is indented in the schema.
local function object(pairs_of, indent)
  local lines = {}
  for i, pair in ipairs(pairs_of) do
    local value = type(pair[2]) == "table" and object(pair[2], indent .. "  ") or scalar(pair[2])
    lines[i] = ('%s  "%s": %s'):format(indent, pair[1], value)
  end
  return "{\n" .. table.concat(lines, ",\n") .. "\n" .. indent .. "}"
end

---The properties of x_skillrt.limits in the schema, or of those that an action may have.
---@param of_action boolean
---@return string
function M.schema(of_action)
  local rows = {}
  for _, row in ipairs(limits.TABLE) do
    if row.action or not of_action then
      rows[#rows + 1] = { row.name, limits.json_schema(row) }
    end
  end
  if not of_action then
    rows[#rows + 1] = { "attempts_per_action", { { "type", "integer" }, { "minimum", 1 } } }
  end
  return object(rows, of_action and "      " or "          ")
end

-- Puts a text between two marks that stand once in the file.
local function between(text, from, to, new)
  local _, first = text:find(from, 1, true)
  local last = first and text:find(to, first + 1, true)
  assert(last, "there is no place for the limits")
  return text:sub(1, first) .. new .. text:sub(last)
end

-- The exit codes that a service takes in one way.
local function codes(service)
  local list = {}
  for _, row in ipairs(exit_codes.TABLE) do
    list[#list + 1] = row.service == service and row.code or nil
  end
  return table.concat(list, " ")
end

---The pages as they have to be: path and text.
---@param read fun(path: string): string
---@return table<string, string>
function M.pages(read)
  local scripting, schema = "docs/scripting.md", "docs/schema/skill-config.schema.json"
  local unit = "examples/systemd/skillrt@.service"
  return {
    [scripting] = between(read(scripting), "<!-- limits: written by make limits -->\n", "<!-- end -->", M.table()),
    [unit] = between(between(read(unit), "\nSuccessExitStatus=", "\n", codes("success")),
      "\nRestartPreventExitStatus=", "\n", codes(nil)),
    [schema] = between(between(read(schema), '"limits": {\n          "type": "object",\n          "properties": ',
      '\n        },\n        "timeouts_s"', M.schema(false)),
      '"Limits of one action or phase.",\n      "properties": ', "\n    },\n", M.schema(true)),
  }
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

if arg and arg[0] and arg[0]:find "docs/limits.lua$" then
  for path, text in pairs(M.pages(read)) do
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(text))
  end
end

return M
