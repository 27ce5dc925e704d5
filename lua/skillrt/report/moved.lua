-- report/moved.lua: a transition of a machine as a line for people (R150): from where to where, by what.
--
-- All text is escaped here. Called by lines.lua.

local text_of = require("skillrt.report.text")

local escape = text_of.escape

---@param out skillrt.report.Line[]
---@param prefix string
---@param move skillrt.Move|nil
return function(out, prefix, move)
  if move and move.from and move.to then
    out[#out + 1] = { kind = "info", text = ("%sState transition: %s -> %s (%s)"):format(prefix, escape(move.from),
      escape(move.to), escape(tostring(move.action))) }
  end
end
