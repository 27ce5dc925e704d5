-- cli/trust.lua: asks a person once whether the code in a skill's folder may run.
--
-- What the code is says document/trust. Called by cli/command/run.

local core = require("skillrt.core")

local M = {}

---The option, for a command's table.
M.OPTION = { name = "trust", help = "the code in the skill's folder may run; remembered until it changes" }

local function ask(code, path)
  local output, trust = require("skillrt.report.output"), require("skillrt.document.trust")
  local escape = require("skillrt.report.text").escape
  output.write(escape(("%s holds code that was not run here before:"):format(path)) .. "\n")
  for _, line in ipairs(trust.lines(code)) do
    output.write("  " .. escape(line) .. "\n")
  end
  output.write("It runs with all that you may do. Run it, now and until it changes? [y/N] ")
  local answer = output.read_line() or ""
  return answer:find("^%s*[yY]") ~= nil
end

---Whether what lies at a path may run; else why not, and the code of the error.
---@param path string
---@param args table  trust, quiet, json
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.check(path, args)
  local trust = require("skillrt.document.trust")
  local code = trust.code(path)
  if not code or trust.is_trusted(code) then
    return true
  end
  local can_ask = not args.quiet and not args.json and core.terminal.is_terminal(0) and core.terminal.is_terminal(1)
  if not args.trust and not (can_ask and ask(code, path)) then
    local text = "%s: holds code that nobody has said may run here:\n%s\nlook at it, then run it once with --trust"
    return nil, text:format(path, table.concat(trust.lines(code), "\n")), "changed"
  end
  local ok, message = trust.remember(code, path)
  if not ok and not args.trust then
    return nil, message, "invalid"
  end
  return true
end

return M
