-- cli/trust.lua: asks the person at the command line for the gate: they gave --trust, or are asked on a terminal.
--
-- document/trust describes the code. Called by cli/init.lua; commands do not ask by themselves.

local core = require("skillrt.core")

local M = {}

---The option of commands that load skills.
M.OPTION = { name = "trust", help = "approves the code in the skill's folder, the MCP servers of its .mcp.json, what "
  .. "its agents may use, or the workflow script; valid until one of them changes" }

-- Describes a workflow script, with roughly how many agents it asks: counted in a dry run.
local function plan_of(path, args)
  local looked, message = require("skillrt.document.check.workflow").looked(path, args.rest)
  if not looked then
    return { message }
  end
  local lines, titles = {}, {}
  for i, phase in ipairs(looked.phases) do
    titles[i] = phase.model and ("%s (%s)"):format(phase.title, phase.model) or phase.title
  end
  lines[1] = ("%s: %s"):format(looked.name, looked.description)
  lines[2] = titles[1] and "phases: " .. table.concat(titles, ", ") or nil
  lines[#lines + 1] = ("agents: %d in a dry run%s; never more than %d"):format(
    looked.asked, looked.message and ", until it threw: " .. looked.message or "", looked.most)
  return lines
end

-- Describes the code, in lines for people.
local function lines_of(code, path, args)
  local lines = require("skillrt.document.trust").lines(code)
  return code.script and table.move(plan_of(path, args), 1, 3, #lines + 1, lines) or lines
end

local function ask(code, path, lines, args)
  local output = require("skillrt.report.output")
  local escape = require("skillrt.base.terminal_text").escape
  local head = code.script and "%s has not been approved yet:" or "%s contains code that has not been approved yet:"
  output.write(escape(head:format(path)) .. "\n")
  for _, line in ipairs(lines) do
    output.write("  " .. escape(line) .. "\n")
  end
  output.write((code.script and "Its agents get your permissions."
    or require("skillrt.skill.sandbox").is_off(args.sandbox) and "It runs with your permissions."
    or "Its Lua runs apart, and its programs run in a sandbox: they reach what is shown here.")
    .. " Approve it, until it changes? [y/N] ")
  local answer = output.read_line() or ""
  return answer:find("^%s*[yY]") ~= nil
end

---Whether code that is not trusted yet may run: asks the person.
---@param code skillrt.Code
---@param path string
---@param args table?  of the command line, once it is read: trust, quiet, json, dry_run, rest
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.decide(code, path, args)
  args = args or { quiet = true, rest = {} }
  if code.script and args.dry_run then
    return true -- it asks no agent and reaches nothing, so anyone may try it to see what it does
  end
  local can_ask = not args.quiet and not args.json and core.terminal.is_terminal(0) and core.terminal.is_terminal(1)
  local lines = not args.trust and lines_of(code, path, args) or nil
  if not args.trust and not (can_ask and ask(code, path, lines, args)) then
    local text = "%s: %s:\n%s\nlook at it, then approve it with --trust"
    local what = code.script and "is a workflow script that has not been approved"
      or code.run and "is a run from elsewhere whose code has not been approved"
      or "contains code that has not been approved"
    return nil, text:format(path, what, table.concat(lines, "\n")), "changed"
  end
  local ok, message = require("skillrt.document.trust").remember(code, path)
  if not ok and not args.trust then
    return nil, message, "invalid"
  end
  return true
end

return M
