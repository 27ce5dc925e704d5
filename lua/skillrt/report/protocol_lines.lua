-- report/protocol_lines.lua: records of the execution protocol as lines for people.
--
-- Functions by the record's type, as lines.lua has them; all text is escaped here. Called by lines.lua.

local text_of = require("skillrt.report.text")

local M = {}

local escape = text_of.escape

local function add(out, kind, form, ...)
  out[#out + 1] = { kind = kind, text = form:format(...) }
end

function M.stage(self, record, out)
  local step = self.steps[record.step]
  if self.detail and step then
    add(out, "detail", "%s: %s", escape(step.id), escape(tostring(record.stage)))
  end
end

function M.contexts(_, record, out)
  for _, row in ipairs(record.list) do
    local text = row.degraded and "degraded, by its alternative: " .. row.degraded
      or row.skipped and "left out: " .. row.skipped
    if text then
      add(out, row.degraded and "warning" or "detail", "Context %s: %s", escape(row.name), escape(text))
    end
  end
end

function M.late(self, record, out)
  local step = self.steps[record.step]
  add(out, "warning", "Warning: %s takes longer than %g seconds; it goes on", escape(step and step.id or "?"),
    record.seconds)
end

function M.abort(_, record, out)
  if record.gone then
    add(out, "warning", "Step %d is not undone: its action is no longer part of the skill", record.gone)
  else
    add(out, "warning", "Aborting (%s): what was done is undone, the last first", escape(tostring(record.reason)))
  end
end

return M
