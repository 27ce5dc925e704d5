-- report/told.lua: records that are told in one line, whatever came before them: the kind of the line, and its text.
--
-- All text is escaped here. Knows record shapes, no run. Part of lines.lua.

local names = require("skillrt.base.names")
local text_of = require("skillrt.report.text")

local escape = text_of.escape

---@type table<string, fun(record: table, prefix: string): string, string>
local M = {}

function M.tool(record, prefix)
  local text = ("%sTool: %s%s"):format(prefix, escape(record.name), record.input and " " .. escape(record.input) or "")
  if record.refused then
    return "warning", ("%s: not performed: %s"):format(text, escape(record.refused))
  end
  return "info", text
end

local function joined(list)
  local shown = {}
  for i = 1, math.min(#list, 20) do
    shown[i] = escape(tostring(list[i]))
  end
  return table.concat(shown, ", ") .. (#list > 20 and (", and %d more"):format(#list - 20) or "")
end

function M.edit(record)
  return "warning", "Taken over from the edited state.json: " .. joined(names.sorted(record.set))
end

function M.accept(record)
  return "warning", "Going on with changed files: " .. joined(record.changed or {})
end

function M.checkpoint(record, prefix)
  return "info", ("%sCheckpoint: %s"):format(prefix, escape(record.name))
end

function M.rollback(record)
  local place = record.name and ("checkpoint %s, "):format(escape(record.name)) or ""
  if record.from then
    return "warning", ("Begins as run %s was: %srecord %d"):format(escape(record.from.run), place, record.to)
  end
  return "warning", ("Taken back: %srecord %d"):format(place, record.to)
end

return M
