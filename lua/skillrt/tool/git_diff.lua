-- tool/git_diff.lua: the tool `git_diff`: what has changed in a git repository, as a patch. It changes
-- nothing, and runs no diff program, hook or monitor that a repository names.

local command = require("skillrt.tool.command")
local roots_of = require("skillrt.tool.roots")

local M = {}

M.FIELDS = { cwd = { kind = "text" }, timeout = { kind = "seconds", default = 60 } }

local INPUT <const> = {
  type = "object",
  properties = {
    ref = { type = "string", pattern = "^[A-Za-z0-9_][A-Za-z0-9_./~^@-]*$",
      description = "a commit or a range; else what is not committed" },
    staged = { type = "boolean" },
    paths = { type = "array", items = { type = "string", minLength = 1 } },
    stat = { type = "boolean", description = "only which files, and how much" },
  },
  additionalProperties = false,
}

local SAFE <const> = { "git", "--no-pager", "--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor=false",
  "-c", "core.hooksPath=/dev/null", "diff", "--no-ext-diff", "--no-textconv", "--no-color",
  "--ignore-submodules=all" }

local function perform(tool, ctx, arguments, task)
  local cwd, message = roots_of.folder(tool.cwd or ".", task)
  if not cwd then
    return nil, message
  end
  local argv = table.move(SAFE, 1, #SAFE, 1, {})
  argv[#argv + 1] = arguments.stat and "--stat" or nil
  argv[#argv + 1] = arguments.staged and "--cached" or nil
  argv[#argv + 1] = arguments.ref
  argv[#argv + 1] = "--"
  table.move(arguments.paths or {}, 1, #(arguments.paths or {}), #argv + 1, argv)
  local text
  text, message = command.run(ctx, tool, argv, { cwd = cwd, timeout = tool.timeout })
  return text == "(no output)" and "(no change)" or text, message
end

---@param given table
---@return table parts
function M.make(given)
  given.description = given.description or "Shows what has changed in the git repository, as a patch."
  given.input, given.perform, given.source, given.acts = INPUT, perform, "built in", false
  return given
end

return M
