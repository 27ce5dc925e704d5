-- limits.lua: writes the limits (lua/skillrt/skill/limit/), the exit codes and the operations of `skillrt serve` where
-- people and programs read them: make limits
--
-- docs/reference/ends.md and docs/run/serve.md have them between two marks, examples/systemd as exit codes;
-- tests/lua/skill/limits_spec.lua checks that all are current.

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

---The table of limits in docs/reference/ends.md.
---@return string
function M.table()
  local lines = { "| field | default | what it limits | ends the run as, exit code |", "|---|---|---|---|" }
  for _, row in ipairs(limits.TABLE) do
    lines[#lines + 1] = ("| `limits.%s` | %s | %s | %s |"):format(row.name, row.default or "none",
      row.text, ending(row))
  end
  return table.concat(lines, "\n") .. "\n"
end

---The table of exit codes in docs/reference/ends.md.
---@return string
function M.exits()
  local lines = { "| code | meaning |", "|---|---|" }
  for _, row in ipairs(exit_codes.TABLE) do
    lines[#lines + 1] = ("| %d | %s |"):format(row.code, row.text)
  end
  return table.concat(lines, "\n") .. "\n"
end

---The table of docs/run/serve.md.
---@return string
function M.operations()
  local lines = { "| request | what it does | body |", "|---|---|---|" }
  for _, one in ipairs(require "skillrt.cli.serve.operations".LIST) do
    local fields = {}
    for name in pairs(one.body and one.body.properties or {}) do
      fields[#fields + 1] = "`" .. name .. "`"
    end
    table.sort(fields)
    lines[#lines + 1] = ("| `%s %s` | %s | %s |"):format(one.method, one.path, one.summary, table.concat(fields, ", "))
  end
  return table.concat(lines, "\n") .. "\n"
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
  local ends = "docs/reference/ends.md"
  local serving = "docs/run/serve.md"
  local unit = "examples/systemd/skillrt@.service"
  return {
    [ends] = between(between(read(ends), "<!-- limits: written by make limits -->\n", "<!-- end -->", M.table()),
      "<!-- exit codes: written by make limits -->\n", "<!-- end -->", M.exits()),
    [serving] = between(read(serving), "<!-- operations: written by make limits -->\n", "<!-- end -->", M.operations()),
    [unit] = between(between(read(unit), "\nSuccessExitStatus=", "\n", codes("success")),
      "\nRestartPreventExitStatus=", "\n", codes(nil)),
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
