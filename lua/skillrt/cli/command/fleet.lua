-- cli/command/fleet.lua: `skillrt fleet init URL`: prepares a PostgreSQL database for runs; pauses its queues; removes
-- old months.

local core = require("skillrt.core")
local ending = require("skillrt.cli.ending")
local output = require("skillrt.report.output")

-- What to do with a queue: whether it is paused afterwards.
local PAUSES <const> = { pause = true, resume = false }

-- The months before one: { month, runs, left: how many are not finished, first: one of those }.
local function months_of(url, before, only_look)
  local text, message, code = core.retire(url, before, only_look)
  local list = {}
  for year, month, runs, left, first in (text or ""):gmatch("(%d%d%d%d)(%d%d) (%d+) (%d+) ([^\n]*)\n") do
    list[#list + 1] = { name = year .. "-" .. month, runs = math.tointeger(runs), left = math.tointeger(left),
      first = first }
  end
  return text and list, message, code
end

local function runs_of(one)
  return ("%d %s"):format(one.runs, one.runs == 1 and "run" or "runs")
end

-- Removes the runs of whole months, after a person has confirmed it.
local function drop(args)
  local year, month = (args.before or ""):match("^(%d%d%d%d)%-(%d%d)$")
  if not year or tonumber(month) < 1 or tonumber(month) > 12 then
    return ending.refused("fleet drop URL needs --before with a month: --before 2026-08", "usage")
  end
  local months, message, code = months_of(args.url, year .. month, true)
  local names = {}
  for _, one in ipairs(months or {}) do
    if one.left == 0 then
      names[#names + 1] = ("%s, %s"):format(one.name, runs_of(one))
    else
      output.say("info", ("%s stays: %d of its %s not finished, %s is one of them")
        :format(one.name, one.left, runs_of(one), require("skillrt.base.terminal_text").escape(one.first)))
    end
  end
  if not months then
    return ending.refused(message, code)
  elseif not names[1] then
    output.say("info", "no month is to be removed")
    return 0
  end
  local ok, why = require("skillrt.cli.selection").confirmed(names, "remove", args.all, "month")
  months = ok and {}
  if ok then
    months, why, code = months_of(args.url, year .. month, false)
  end
  if not months then
    return ending.refused(why, code or "invalid")
  end
  for _, one in ipairs(months) do
    if one.left == 0 then
      output.write(("removed %s: %s\n"):format(one.name, runs_of(one)))
    end
  end
  return 0
end

return {
  name = "fleet",
  summary = "Prepares a PostgreSQL database for runs (skillrt fleet init postgres://USER@HOST/DATABASE), pauses its "
    .. "queues, removes old months",
  description = "init keeps what is there; repeat it once a year for the months to come. Then skillrt run SKILL "
    .. "--work-dir URL begins a run, URL/RUN. No worker takes runs from a paused queue; those under way "
    .. "continue. drop removes runs for good, a whole month at a time: a month stays as long as one of its runs is not "
    .. "finished. See docs/run/fleet.md.",
  arguments = {
    { name = "WHAT", choices = { "init", "pause", "resume", "drop" },
      help = "init: creates the tables that are missing; pause, resume: a queue; drop: old months" },
    { name = "URL", help = "the database: postgres://USER@HOST/DATABASE; put its password in ~/.pgpass; for a "
      .. "queue also a folder of runs" },
  },
  options = {
    { name = "check", help = "changes nothing; lists what is missing, and exits with 1 if anything is" },
    { name = "queue", value = "NAME", help = "which queue is paused or resumed; default: default" },
    { name = "before", value = "YYYY-MM", help = "drop: the months before this one" },
    { name = "all", help = "drop: removes them without asking" },
    { name = "lease", value = "SECONDS", help = "how long a silent process holds its runs; default: 15" },
  },
  ---@param args table
  ---@return integer code
  run = function(args)
    if args.what == "drop" then
      return drop(args)
    elseif PAUSES[args.what] ~= nil then
      local ok, why, cause = core.pause(args.url, args.queue or "default", PAUSES[args.what])
      return ok and 0 or ending.refused(why, cause)
    end
    local lease = math.tointeger(tonumber(args.lease or 0))
    if not lease or args.lease and (lease < 1 or lease > 3600) then
      return ending.refused("--lease: must be from 1 to 3600 seconds", "usage")
    end
    local missing, message, code = core.prepare(args.url, lease * 1000, args.check)
    if not missing then
      return ending.refused(message, code)
    end
    output.write(missing == "" and "the database can hold runs\n" or missing)
    return args.check and missing ~= "" and 1 or 0
  end,
}
