-- cli/command/context.lua: `skillrt context SKILL`: which contexts a run would load, in order: source, version,
-- digest, size, and what would be skipped. Changes nothing.

local function line(row, number, text_of)
  local escape = text_of.escape
  local what = row.skipped and "left out: " .. escape(row.skipped)
    or ("%s%s%d bytes"):format(row.digest and "sha256 " .. row.digest:sub(1, 12) .. ", " or "",
      row.version and "version " .. escape(row.version) .. ", " or "", row.bytes or 0)
  local degraded = row.degraded and "; replaces one that does not exist: " .. escape(row.degraded) or ""
  return ("%d. %s %s%s: %s%s"):format(number, row.kind, escape(row.name),
    row.file and " from " .. escape(row.file) or "", what, degraded)
end

return {
  name = "context",
  looks = true,
  summary = "Shows the contexts that a run of a skill would load, in that order",
  arguments = { { name = "SKILL", is_skill = "first", help = "a skill's folder, script or configuration" } },
  options = {
    { name = "session", value = "NAME", help = "includes what this session saved" },
    require("skillrt.cli.trust").OPTION,
  },
  ---@param args table
  ---@return integer|nil code
  run = function(args)
    local output, contexts = require("skillrt.report.output"), require("skillrt.run.contexts")
    local text_of = require("skillrt.base.terminal_text")
    local skill, message, code = require("skillrt.document.open").see(args.skill)
    if not skill then
      return nil, message, code
    end
    local session
    if args.session then
      session, message = contexts.session_file(args.session)
      if not session then
        return nil, message, "invalid"
      end
    end
    if not skill.contexts then
      output.write("no contexts are declared\n")
      return 0
    end
    local here = require("skillrt.base.files").current()
    local dir = require("skillrt.base.files").join(here, skill.dir)
    local rows, _, problem = contexts.read(skill, { global = dir, project = here }, session)
    for i, row in ipairs(rows) do
      output.write(line(row, i, text_of) .. "\n")
    end
    return not problem and 0 or nil, problem, "missing"
  end,
}
