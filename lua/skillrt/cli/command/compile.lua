-- cli/command/compile.lua: `skillrt compile FOLDER`: asks an agent what the lines mean that no reader understood,
-- shows the answer to a person, and writes it to the folder's workflow.json.

local run = require("skillrt.cli.command.run")

local WANTED <const> = { ["work-dir"] = true, agent = true, ["agent-env"] = true, limit = true, ["at-most"] = true,
  trust = true, quiet = true, json = true, sandbox = true }

local M = {
  name = "compile",
  drives = true,
  summary = "Has an agent say what the prose of a skill's folder means for its run, and writes workflow.json",
  description = "Asks once about all lines that name a phase and were not read (skillrt check shows them). The "
    .. "answer is shown as a difference with the source of each line, and written once a person approves "
    .. "it: at the terminal, or by skillrt answer DIR write. After a change of a document it asks again "
    .. "about its lines only.",
  arguments = { { name = "FOLDER", is_skill = "first", help = "a skill's folder, with its phases in documents" } },
  options = {},
}
for _, option in ipairs(run.options) do
  M.options[#M.options + 1] = WANTED[option.name] and option or nil
end

---@param args table
---@return integer|nil code
function M.run(args)
  local output = require("skillrt.report.output")
  local source, message, code = require("skillrt.document.compile").read(args.folder)
  if not source and code == "nothing" then
    output.say("info", require("skillrt.base.terminal_text").escape(message))
    return 0
  elseif not source then
    return nil, message, code
  end
  args.script, args.compiles, args.rest = args.folder, true, {}
  return run.run(args)
end

return M
