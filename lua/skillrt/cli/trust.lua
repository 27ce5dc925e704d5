-- cli/trust.lua: asks a person once whether a stranger's code may run: what lies in a skill's folder, what a config
-- starts, a workflow script.
--
-- What the code is says document/trust. Called by the commands that run or load what lies at a path.

local core = require("skillrt.core")

local M = {}

---The option, for a command's table.
M.OPTION = { name = "trust", help = "the code in the skill's folder, the MCP servers of its .mcp.json, or the workflow "
  .. "script, may run; remembered until it changes" }

-- What a workflow script is, and roughly how many agents it asks: it is tried with agents that answer at once.
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
  lines[#lines + 1] = ("agents: %d where each answers at once with the least that fits%s; at most %d"):format(
    looked.asked, looked.message and ", until it threw: " .. looked.message or "", looked.most)
  return lines
end

-- What it is, in lines for people.
local function told(code, path, args)
  local lines = require("skillrt.document.trust").lines(code)
  for _, line in ipairs(code.script and plan_of(path, args) or {}) do
    lines[#lines + 1] = line
  end
  return lines
end

local function ask(code, path, lines)
  local output = require("skillrt.report.output")
  local escape = require("skillrt.report.text").escape
  local head = code.script and "%s was not run here before:" or "%s holds code that was not run here before:"
  output.write(escape(head:format(path)) .. "\n")
  for _, line in ipairs(lines) do
    output.write("  " .. escape(line) .. "\n")
  end
  output.write((code.script and "Its agents may do what yours may." or "It runs with all that you may do.")
    .. " Run it, now and until it changes? [y/N] ")
  local answer = output.read_line() or ""
  return answer:find("^%s*[yY]") ~= nil
end

-- Whether this code may run: it is known, or the command line or a person says so.
local function decide(code, path, args, looks)
  local trust = require("skillrt.document.trust")
  if not code or looks and not code.loads or trust.is_trusted(code) then
    return true
  end
  local can_ask = not args.quiet and not args.json and core.terminal.is_terminal(0) and core.terminal.is_terminal(1)
  local lines = not args.trust and told(code, path, args) or nil
  if not args.trust and not (can_ask and ask(code, path, lines)) then
    local text = "%s: %s that nobody has said may run here:\n%s\nlook at it, then run it once with --trust"
    local what = code.script and "is a workflow script"
      or code.run and "is a run that was begun elsewhere and names code" or "holds code"
    return nil, text:format(path, what, table.concat(lines, "\n")), "changed"
  end
  local ok, message = trust.remember(code, path)
  if not ok and not args.trust then
    return nil, message, "invalid"
  end
  return true
end

---Whether what lies at a path may run; else why not, and the code of the error.
---@param path string
---@param args table  trust, quiet, json, rest
---@param looks boolean?  it is only looked at: what runs when it is loaded counts
---@param specs string[]?  tests of it that are to run
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.check(path, args, looks, specs)
  return decide(require("skillrt.document.trust").code(path, nil, specs), path, args, looks)
end

---Whether what a run's journal names may be loaded, before a byte of it runs. A run that was begun elsewhere is a
---stranger's, whatever it names; one that this user began here names a script of their own, or a folder.
---@param dir string
---@param first table  the run's first record
---@param args table
---@param looks boolean?
---@param script string?  in place of the one that the journal names
---@return boolean|nil ok
---@return string? message
---@return string? code
function M.check_run(dir, first, args, looks, script)
  if not require("skillrt.base.seal").is_ours(first) then
    local ok, message, code = decide(require("skillrt.document.trust").code_of_run(first), dir, args)
    if not ok then
      return nil, message, code
    end
  elseif type(first.agent) == "table" and first.agent.kind == "dry" then
    return true
  end
  local path = script or first.script
  path = path == first.script and first.folder or path
  if path:find("%.lua$") and not require("skillrt.base.files").is_folder(path) then
    return true
  end
  return M.check(path, args, looks)
end

return M
