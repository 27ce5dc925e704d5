-- views.lua: what people are shown of a simulated run, by commands that only look. None may raise an error, whatever
-- the journal is like. Left out is what depends on the machine (du, receipt, verify), and what needs the skill's file
-- (replay).
--
-- Used by sim.lua.

local arguments = require "skillrt.cli.arguments"
local core = require "skillrt.core"

local M = {}

-- RUN is where the run is, ALL the folder or the database with all runs.
local VIEWS <const> = { "list ALL", "list ALL --json", "latest ALL", "show RUN@1", "show RUN@3", "diff RUN@2 RUN",
  "diff RUN@2 RUN@4", "watch RUN", "status RUN", "status RUN --json", "log RUN", "log RUN --json", "log RUN --state",
  "log RUN --verify", "explain RUN", "explain RUN --json", "history RUN", "history RUN --json", "state RUN",
  "metrics RUN", "report RUN --html -", "report RUN --record en", "report RUN --record zh" }

-- Performs a command; its code, or nil and why it is refused.
local function perform(line, place, wrong)
  local words, folder = {}, place:match "^(.*)/"
  for word in line:gmatch "%S+" do
    words[#words + 1] = word:gsub("RUN", place):gsub("ALL", folder ~= "" and folder or "/")
  end
  local command = require("skillrt.cli.command." .. table.remove(words, 1))
  local args = assert(arguments.read(command, words))
  local ok, code, message = xpcall(command.run, debug.traceback, args)
  if not ok then
    wrong(("skillrt %s raised: %s"):format(line, tostring(code)))
  end
  return code, message
end

---@param place string
---@param wrong fun(message: string)  is told of a command that raises an error
---@return string text  of all views
function M.text(place, wrong)
  local parts, terminal = {}, core.terminal
  local write = terminal.write
  function terminal.write(_, text)
    parts[#parts + 1] = text
    return true
  end
  for _, line in ipairs(VIEWS) do
    parts[#parts + 1] = ("$ skillrt %s\n"):format(line)
    local code, message = perform(line, place, wrong)
    parts[#parts + 1] = ("= %s %s\n"):format(tostring(code), tostring(message))
  end
  terminal.write = write
  return table.concat(parts)
end

return M
