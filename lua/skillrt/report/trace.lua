-- report/trace.lua: a traceback with the author's own frames only.
--
-- The frames of the runtime do not help an author. Called by lines.lua and cli/ending.lua.
-- cli/ending.lua.

local text_of = require("skillrt.base.terminal_text")

local M = {}

---The frames of the author's code, escaped; none if the message already names the only one.
---@param traceback string
---@return string[]
function M.lines(traceback)
  local list = {}
  for line in traceback:gmatch("\n\t([^\n]+)") do
    local ours = line:find("^%[C%]") or line:find("^skillrt/") or line:find("^%(%.%.%.tail calls")
    if not ours and not line:find("^lua/skillrt/") and not line:find("/lua/skillrt/[%w_/]+%.lua:") then
      list[#list + 1] = "in " .. text_of.escape(line)
    end
  end
  return #list > 1 and list or {}
end

return M
