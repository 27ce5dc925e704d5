-- cli/command/submit.lua: `skillrt submit PLACE SKILL -- TASK`: creates a run that workers perform.

local core = require("skillrt.core")
local cron = require("skillrt.base.cron")
local files = require("skillrt.base.files")
local instant = require("skillrt.base.instant")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local output = require("skillrt.report.output")
local run = require("skillrt.cli.command.run")
local schedule = require("skillrt.run.schedule")
local store_of = require("skillrt.run.store")
local terminal_text = require("skillrt.base.terminal_text")
local travel = require("skillrt.run.travel")

-- Options of `skillrt run` that define the run, not how this process performs it.
local OF_RUN <const> = { set = true, input = true, agent = true, ["agent-env"] = true, limit = true, ["at-most"] = true,
  strategy = true, durability = true, sandbox = true, trust = true, strict = true }

local M = {
  name = "submit",
  summary = "Begins a run that a worker performs (skillrt worker)",
  description = "The files of the skill are stored with the run, so that a worker needs nothing else of it. What you "
    .. "submit you approve: workers run it without asking.",
  arguments = {
    { name = "PLACE", help = "a folder of runs, or a database: postgres://USER@HOST/DATABASE" },
    { name = "SCRIPT", is_skill = "first", help = "as skillrt run takes it" },
  },
  options = {
    { name = "key", value = "NAME", help = "the name of the run; submitted again under this key, it stays one run" },
    { name = "each", value = "FILE", help = "begins a run for each line of a file (-: standard input): the line, a "
      .. "JSON object, is its input, and its name ends with the number of the line" },
    { name = "queue", value = "NAME", help = "the queue whose workers perform it; default: default" },
    { name = "prio", value = "NUMBER", help = "runs with a higher number begin first; default: 0" },
    { name = "limit-key", value = "KEY=LIMITS", help = "of the runs with this key, so many at the same time "
      .. "(4), so many in a second, minute or hour (60/m), or both (4,60/m)" },
    { name = "at", value = "TIME", help = "begins it then: a time in UTC, 2026-12-01T09:00Z; with --cron the times "
      .. "count from then on" },
    { name = "cron", value = "TEXT", help = "makes a schedule, which begins a run at each of these times in UTC: "
      .. "minute, hour, day, month, weekday (\"0 3 * * mon-fri\"), or @hourly, @daily, @weekly, @monthly, @yearly" },
    { name = "missed", value = "WHICH", choices = { "skip", "last", "all" }, help = "catches up all of the times that "
      .. "no worker looked at within a minute, the last of them or none (skip); default: last" },
  },
  rest = "TASK ...",
}
for _, option in ipairs(run.options) do
  M.options[#M.options + 1] = OF_RUN[option.name] and option or nil
end

local UNITS <const> = { s = 1000, m = 60000, h = 3600000 }
local MOST_NAME <const> = 48 -- of a schedule: its runs have a time before it

-- What --limit-key names; nil: it cannot be read.
local function limits_of(text)
  local key, list = text:match("^([^=]+)=(.+)$")
  local limits = { key = key }
  for word in (list or ""):gmatch("[^,]+") do
    local number, unit = word:match("^(%d+)(.*)$")
    local most = math.tointeger(tonumber(number))
    if not most or most < 1 or unit ~= "" and not UNITS[unit:match("^/(.)$")] then
      return nil
    elseif unit == "" then
      limits.most = most
    else
      limits.rate, limits.rate_ms = most, UNITS[unit:sub(2)]
    end
  end
  return (limits.most or limits.rate) and limits
end

local function check_name(option, text)
  if text and not names.is_label(text) then
    return ("--%s: %s is not a valid name: use 1 to 64 of A-Z a-z 0-9 . _ -, the first of them not ."):format(
      option, names.show(text))
  end
end

-- The label of the run, in the form of core.label; or nil and what is wrong.
local function label_of(args)
  local prio = math.tointeger(tonumber(args.prio or 0))
  local label = args.limit_key and limits_of(args.limit_key) or {}
  if not prio then
    return nil, ("--prio must be a whole number, not %s"):format(names.show(args.prio))
  elseif args.limit_key and not label.key then
    return nil, ("--limit-key %s: write KEY=4, KEY=60/m or KEY=4,60/m"):format(names.show(args.limit_key))
  end
  label.queue, label.prio = args.queue or "default", prio
  local problem = check_name("key", args.key) or check_name("queue", args.queue) or check_name("limit-key", label.key)
  return not problem and label or nil, problem
end

-- The earliest start, in UTC ms; or nil and what is wrong.
local function time_of(args, name)
  if args.missed and not args.cron then
    return nil, "--missed belongs to --cron"
  elseif args.cron and #name > MOST_NAME then
    return nil, ("%s: the name of a schedule has at most %d bytes"):format(name, MOST_NAME)
  end
  local at, problem
  if args.at then
    at, problem = instant.read(args.at)
  else
    at = core.wall_ms()
  end
  if at and args.cron then
    local due, why = cron.next(args.cron, at - 1)
    return due and at, why
  end
  return at, problem
end

-- A schedule has no steps that a limit could count.
local function own_label(args, label)
  return args.cron and { queue = label.queue, prio = label.prio } or label
end

-- Stores a new run or schedule: its files go into the database, and it has no folder that other machines would need.
local function keeper(args, label, at)
  return function(first, store)
    local submission = require("skillrt.document.submission")
    first.schedule = args.cron and { cron = args.cron, missed = args.missed or "last", label = label } or nil
    local blobs, message, code = submission.add(first)
    if not blobs then
      return nil, message, code
    end
    local ok
    if args.cron then
      ok, message, code = schedule.submit(store, first, blobs, own_label(args, label), at)
    else
      ok, message, code = travel.create(store, first, { travel.stop("submitted", args.at
        and "begins at " .. instant.iso(at) or "waits for a worker", at) }, blobs, label)
    end
    return ok and { status = "paused" }, message, code
  end
end

-- Whether the run that a key names exists already.
local function is_there(place)
  return store_of.at(place):exists() and (require("skillrt.run.look").first(place) or {}).submitted ~= nil
end

-- Submits one run; nil: what is wrong, and its code; where that was printed already, only the exit code.
local function submit(args, name, label)
  local at, why = time_of(args, name)
  if not at then
    return nil, why, "usage"
  end
  local place = store_of.absolute(args.place, name)
  place = place == store_of.absolute(args.place) and files.join(place, name) or place
  if args.key and is_there(place) then
    local ok, message, code = core.label(place, own_label(args, label))
    if not ok then
      return nil, message, code
    end
  else
    args.work_dir, args.submit = place, keeper(args, label, at)
    local result, printed = run.result(args)
    if not result then
      return printed --[[@as integer]]
    end
  end
  output.write(terminal_text.escape(place) .. "\n")
  return 0
end

-- Submits a run for each line of a file. The first that cannot be submitted ends it.
local function submit_each(args, label)
  local file, why = io.stdin, nil
  if args.each ~= "-" then
    file, why = io.open(args.each)
  end
  if not file then
    return nil, why, "missing"
  end
  local hold <close>, cause, what = core.hold(args.place)
  if not hold then
    return nil, cause, what
  end
  local number, base = 0, args.key or names.new_run()
  while true do
    number = number + 1
    local line, broken = file:read("l")
    if not line then
      return not broken and 0 or nil, broken and ("%s: line %d: %s"):format(args.each, number, broken), "invalid"
    end
    local given, problem = json.decode(line)
    if not json.is_object(given) then
      return nil, ("%s: line %d: must be a JSON object%s"):format(args.each, number, problem and ": " .. problem or ""),
        "invalid"
    end
    args.given, args.quiet = given, number > 1 -- what is to be said of the skill is said once
    local code, message, kind = submit(args, ("%s-%d"):format(base, number), label)
    if code ~= 0 then
      return code, message and ("%s: line %d: %s"):format(args.each, number, message), kind
    end
  end
end

---@param args table
---@return integer|nil code
function M.run(args)
  local label, problem = label_of(args)
  if label and args.each and (args.input or args.cron) then
    label, problem = nil, "--each gives each run its input: it goes with neither --input nor --cron"
  end
  if not label then
    return nil, problem, "usage"
  elseif args.each then
    return submit_each(args, label)
  end
  return submit(args, args.key or names.new_run(), label)
end

return M
