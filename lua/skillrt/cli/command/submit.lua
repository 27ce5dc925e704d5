-- cli/command/submit.lua: `skillrt submit PLACE SKILL -- TASK`: begins a run that workers perform.

local core = require("skillrt.core")
local ending = require("skillrt.cli.ending")
local files = require("skillrt.base.files")
local run = require("skillrt.cli.command.run")
local store_of = require("skillrt.run.store")

-- Options of `skillrt run` that say what the run is, not how this process performs it.
local OF_RUN <const> = { set = true, input = true, agent = true, ["agent-env"] = true, limit = true, ["at-most"] = true,
  strategy = true, durability = true, sandbox = true, trust = true, strict = true }

local M = {
  name = "submit",
  summary = "Begins a run that a worker performs (skillrt worker)",
  description = "The files of the skill are stored with the run, so that a worker needs nothing else of it. What you "
    .. "submit you approve: workers run it without asking.",
  arguments = {
    { name = "PLACE", help = "a folder of runs, or a database: postgres://USER@HOST/DATABASE" },
    { name = "SCRIPT", help = "as skillrt run takes it" },
  },
  options = {
    { name = "key", value = "NAME", help = "the name of the run; submitted again under this key, it stays one run" },
    { name = "queue", value = "NAME", help = "the queue whose workers perform it; default: default" },
    { name = "prio", value = "NUMBER", help = "runs with a higher number begin first; default: 0" },
    { name = "limit-key", value = "KEY=NUMBER", help = "of the runs with this key, so many at the same time" },
  },
  rest = "TASK ...",
}
for _, option in ipairs(run.options) do
  M.options[#M.options + 1] = OF_RUN[option.name] and option or nil
end

-- The label of the run, as core.label takes it; nil and what is wrong.
local function label_of(args)
  local prio, key, most = math.tointeger(tonumber(args.prio or 0)), nil, nil
  if args.limit_key then
    key, most = args.limit_key:match("^(.-)=(%d+)$")
    most = math.tointeger(tonumber(most))
  end
  if not prio or args.limit_key and not (most and most > 0) then
    return nil, "--prio takes a whole number, --limit-key KEY=NUMBER"
  end
  return { args.queue or "default", prio, key, most }
end

-- Keeps a run that begins: its files go along, and it has no folder that others would have to have.
local function keep(first, store)
  local submission = require("skillrt.document.submission")
  local submitted, blobs = submission.of(first)
  if not submitted then
    return nil, blobs, "invalid"
  end
  first.submitted, first.cwd = submitted, nil
  first.seal = require("skillrt.base.seal").of(first)
  local ok, message, code = require("skillrt.run.travel").submit(store, first, blobs --[[@as table]])
  return ok and { status = "paused" }, message, code
end

-- Whether there is the run already that a key names.
local function is_there(place)
  return store_of.at(place):exists() and (require("skillrt.run.look").first(place) or {}).submitted ~= nil
end

---@param args table
---@return integer code
function M.run(args)
  local label, problem = label_of(args)
  if not label then
    return ending.refused(problem, "usage")
  end
  local name = args.key or ("%s-%s"):format(os.date("!%Y%m%d-%H%M%S", core.wall_ms() // 1000), core.uuid():sub(1, 6))
  local place = store_of.absolute(args.place, name)
  place = place == store_of.absolute(args.place) and files.join(place, name) or place
  if not (args.key and is_there(place)) then
    args.work_dir, args.submit, args.quiet = place, keep, true
    local result, code = run.result(args)
    if not result then
      return code --[[@as integer]]
    end
  end
  local ok, message, code = core.label(place, table.unpack(label, 1, 4))
  if not ok then
    return ending.refused(message, code)
  end
  require("skillrt.report.output").write(require("skillrt.base.terminal_text").escape(place) .. "\n")
  return 0
end

return M
