-- cli/command/adopt.lua: `skillrt adopt RUN`: takes over a run of a workflow script that Claude Code or qwen-code
-- started: its script runs from the beginning and gets the agents' recorded answers, which are not asked for again.

local run = require("skillrt.cli.command.run")
local tables = require("skillrt.base.tables")

local M = {
  name = "adopt",
  summary = "Takes over a workflow run of Claude Code or qwen-code: recorded answers are used, the other agents asked",
  description = "Writes the script and the recorded answers to a folder, reports how many answers are used and how "
    .. "many agents are left to ask, then runs the script. --dry-run only reports.",
  arguments = { { name = "RUN", help = "the run's ID (wf_...), its folder, its JSON file or its script" } },
  options = tables.append({
    { name = "script", value = "FILE", help = "the script, where it is not with the run" },
    { name = "output", value = "DIR", help = "where the script and the answers are written; default: adopted/ID" },
  }, run.options),
  rest = run.rest,
}

-- What is left of the run, in the form that adopt.js reads.
local function read(args)
  local text, message = require("skillrt.run.runner").perform("adopt", function(ctx)
    local program = require("skillrt.base.files").asset("lua/skillrt/skill/workflow/adopt.js")
    local argv = { "node", "-e", program, args.run, args.script or "", table.concat(args.rest, " ") }
    local reply, why = ctx.await({ kind = "command", argv = argv,
      env = { CLAUDE_CONFIG_DIR = true }, shown = "node", timeout = 600, max_output = 1 << 30 })
    return reply and reply.stdout, why
  end)
  local out, why = require("skillrt.base.json").decode(text or "")
  return out and not out.error and out or nil, out and out.error or message or why
end

-- Writes the adopted run; keeps a script that a person edited there.
local function write(out, dir)
  local files, json = require("skillrt.base.files"), require("skillrt.base.json")
  local path = files.join(dir, out.name)
  local ok, message = files.make_folders(dir)
  if ok then
    ok, message = files.write(path .. require("skillrt.skill.workflow.recorded").BESIDE,
      require("skillrt.base.secrets").clean(assert(json.encode({ results = out.results, before = out.before }))))
  end
  if ok and not files.stat(path) then
    ok, message = files.write(path, out.script)
  end
  return ok and path or nil, message
end

---@param args table
---@return integer|nil code
function M.run(args)
  local output = require("skillrt.report.output")
  local out, message = read(args)
  local path
  if out then
    path, message = write(out, args.output or "adopted/" .. out.id)
  end
  if not path then
    return nil, message, "invalid"
  end
  if not args.rest[1] and out.args ~= nil then
    args.rest = { assert(require("skillrt.base.json").encode(out.args)) }
  end
  local looked, why = require("skillrt.document.check.workflow").looked(path, args.rest)
  if not looked then
    return nil, why, "invalid"
  end
  local count, left = #out.results, looked.asked - looked.taken
  local costs = left > 0 and out.output_tokens > 0
  local text = "%s: recorded answers: %d%s%s; used: %d; agents left to ask: about %d%s; the script: %s"
  output.say("info", require("skillrt.base.terminal_text").escape(text:format(out.id, count,
    out.unfinished > 0 and (" (unfinished agents: %d)"):format(out.unfinished) or "",
    out.unknown > 0 and (" (answers without a prompt: %d)"):format(out.unknown) or "", looked.taken, left,
    costs and (" (about %d output tokens)"):format(left * out.output_tokens // count) or "", path)))
  if args.dry_run then
    return 0
  end
  args.script = path
  return run.run(args)
end

return M
