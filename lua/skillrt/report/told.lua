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

function M.compact(record, prefix)
  local text = "%s%s: its talk was made shorter (%s): %d to %d bytes, %d turns of it left as they were"
  return "info", text:format(prefix, escape(record.agent), escape(record.how), record.before, record.after, record.kept)
end

function M.switch(record, prefix)
  local text = ("%sPhase: %s -> %s (%s)"):format(prefix, escape(record.from), escape(record.to), escape(record.by))
  if record.refused then
    return "warning", ("%s: refused: %s"):format(text, escape(record.refused))
  end
  return "info", record.advised and text .. ": the calls speak for it; the set stays" or text
end

local function joined(list, most)
  most = most or 20
  local shown = {}
  for i = 1, math.min(#list, most) do
    shown[i] = escape(tostring(list[i]))
  end
  return table.concat(shown, ", ") .. (#list > most and (", and %d more"):format(#list - most) or "")
end

function M.edit(record)
  return "warning", "Taken over from the edited state.json: " .. joined(names.sorted(record.set))
end

function M.accept(record)
  return "warning", "Going on with changed files: " .. joined(record.changed or {})
end

function M.clock(record)
  local way = record.moved > 0 and "forward" or "back"
  return "warning", ("The clock was set %s by %s"):format(way, text_of.duration(math.abs(record.moved)))
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

-- What more there is to say of a step that is over: a field of its record, the kind of the line, its words.
local BEHIND_DONE <const> = {
  { "refused", "warning", "Warning: %s: only the runtime writes %s; the update was left out" },
  { "replaced", "warning", "Warning: %s: replaced what a step beside it made of %s; the schema can say how they meet" },
  { "missed", "warning", "Warning: %s: its effect did not come true: %s" },
  { "damaged", "error", "Damaged: %s left the state as it must never be: %s" },
}

---@param record table  `done`
---@param prefix string
---@param id string     escaped
---@return { [1]: string, [2]: string }[] lines  kind and text
function M.behind_done(record, prefix, id)
  local lines = {}
  for _, row in ipairs(BEHIND_DONE) do
    local list = record[row[1]]
    lines[#lines + 1] = list and { row[2], prefix .. row[3]:format(id, joined(list, 10)) } or nil
  end
  if record.checkpoint then
    lines[#lines + 1] = { "info", ("%sCheckpoint: %s"):format(prefix, escape(record.checkpoint)) }
  end
  return lines
end

return M
