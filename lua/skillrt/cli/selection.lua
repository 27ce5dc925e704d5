-- cli/selection.lua: the runs that a command works on: the directories that its line names; with filters, the runs of
-- a folder that match all of them; without either, the most recently active run of the folder of run/folder.lua.
--
-- Called by the commands that take several runs, and by list.lua.

local core = require("skillrt.core")
local folder_of = require("skillrt.run.folder")
local instant = require("skillrt.base.instant")
local names = require("skillrt.base.names")
local output = require("skillrt.report.output")
local text_of = require("skillrt.base.terminal_text")

local M = {}

---The options by which a command selects runs of a folder.
---@type skillrt.Option[]
M.FILTERS = {
  { name = "status", value = "STATUS", many = true,
    help = "runs that are running, interrupted, paused, completed, failed or aborted",
    choices = { "running", "interrupted", "paused", "completed", "failed", "aborted" } },
  { name = "failed", help = "the same as --status failed" },
  { name = "waiting", help = "runs that are paused for a person, an event or a time" },
  { name = "since", value = "WHEN", help = "runs whose last record is no older: 30m, 12h, 7d, 2w, or 2026-03-01" },
  { name = "older-than", value = "WHEN", help = "runs whose last record is older" },
  { name = "skill", value = "NAME", help = "runs of this skill" },
}

local UNITS <const> = { s = 1000, m = 60000, h = 3600000, d = 86400000, w = 604800000 }

-- A point in time: a duration ago, or a date; UTC ms.
local function instant_of(option, text)
  local count, unit = text:match("^(%d+)([smhdw])$")
  if count and #count <= 6 then
    return core.wall_ms() - tonumber(count) * UNITS[unit]
  end
  local at = not text:find("^%d+$") and instant.read(text)
  if at then
    return at
  end
  return nil, ("--%s %s: write how long ago (30m, 12h, 7d, 2w) or a date in UTC (2026-03-01)"):format(option,
    names.show(text))
end

---The filters of a line; nil: it has none.
---@param args table
---@return skillrt.RunFilter|nil filter
---@return string? message
function M.filter(args)
  local filter, problem, also = { skill = args.skill, waiting = args.waiting }, nil, nil
  if args.failed or args.status then
    filter.statuses = { failed = args.failed }
    for _, status in ipairs(args.status or {}) do
      filter.statuses[status] = true
    end
  end
  if args.since then
    filter.since, problem = instant_of("since", args.since)
  end
  if args.older_than then
    filter.before, also = instant_of("older-than", args.older_than)
  end
  if problem or also then
    return nil, problem or also
  end
  return next(filter) and filter or nil
end

---The most recently active run.
---@param folder string?
---@return string|nil dir
---@return string? message
---@return string? code
function M.last(folder)
  local last
  local where = folder or folder_of.path()
  local ok, message, code = require("skillrt.report.runs").each(where, nil, function(one)
    last = one.dir
    return false
  end)
  if ok and not last then
    message, code = where .. ": contains no runs", "invalid"
  elseif code == "missing" and not folder then
    message, code = ("no run is named, and %s contains none: name the directory of a run"):format(where), "invalid"
  end
  return last, message, code
end

---The matching runs of folders, the newest first in each; all of them without a filter.
---@param folders string[]|nil
---@param filter skillrt.RunFilter|nil
---@param take fun(one: table): boolean?  as report/runs.lua gives them
---@return true|nil ok
---@return string? message
---@return string? code
local function each_of(folders, filter, take)
  for _, folder in ipairs(folders or { folder_of.path() }) do
    local is_run = folders and require("skillrt.run.store").at(folder):exists()
    local ok, message, code = require("skillrt.report.runs").each(folder, filter, take)
    if not folders and code == "missing" then
      ok = true -- no run of the project has begun
    elseif ok and is_run then
      ok, message, code = nil, folder .. ": is a run; name the folder that holds it", "invalid"
    end
    if not ok then
      return nil, message, code
    end
  end
  return true
end

---Calls `take` for the runs of the folders that a line names and its filters select; returns the exit code.
---@param args table  folder, and those of FILTERS
---@param take fun(one: table): boolean?
---@return integer exit_code
function M.chosen(args, take)
  local filter, wrong = M.filter(args)
  local ok, message, code = nil, wrong, "invalid"
  if not wrong then
    ok, message, code = each_of(args.folder, filter, take)
  end
  return ok and 0 or require("skillrt.cli.ending").refused(message, code)
end

---The argument of a command that works on folders of runs.
M.FOLDER = { name = "FOLDER", many = true, optional = true, help = "folders of runs; default: the project's" }

---Asks for confirmation before changing runs that filters selected, and lists them first.
---@param dirs string[]
---@param what string   "resume", "remove"
---@param sure boolean|nil  the person already confirmed on the command line
---@param thing string?  what each of them is; default: "run"
---@return true|nil ok
---@return string? message
function M.confirmed(dirs, what, sure, thing)
  local count = ("%d %s%s"):format(#dirs, thing or "run", #dirs == 1 and "" or "s")
  if sure then
    return true
  elseif not (core.terminal.is_terminal(0) and core.terminal.is_terminal(1)) then
    return nil, ("%s would be chosen: %s; to %s them, add --all"):format(count, names.listed(dirs, 5), what)
  end
  for _, dir in ipairs(dirs) do
    output.write(text_of.escape(dir) .. "\n")
  end
  output.write(("%s %s? (y/N)> "):format(what, count))
  if (output.read_line() or ""):lower():find("^%s*y") then
    return true
  end
  return nil, "nothing was done"
end

---Performs a command for each run that its line means; returns the highest exit code.
---@param args table    dir: the words of the line
---@param what string   the verb for people
---@param perform fun(dir: string): integer|nil, string?, string?  as a command's `run`
---@param takes nil|fun(stands: table): boolean  whether a run that filters selected can be used
---@return integer|nil code
function M.each(args, what, perform, takes)
  local ending = require("skillrt.cli.ending")
  local filter, problem = M.filter(args)
  local dirs, cause = args.dir, nil
  if problem then
    return nil, problem, "invalid"
  elseif filter then
    local found = {}
    local ok
    ok, problem, cause = each_of(dirs, filter, function(one)
      found[#found + 1] = (not takes or takes(one.status)) and one.dir or nil
    end)
    dirs = found
    if ok and not dirs[1] then
      output.say("info", "no run matches")
      return 0
    elseif ok then
      problem, cause = select(2, M.confirmed(dirs, what, args.all)), "invalid"
    end
  elseif not dirs then
    local last
    last, problem, cause = M.last()
    dirs = { last }
  end
  if problem then
    return nil, problem, cause
  end
  local code = 0
  for _, dir in ipairs(dirs) do
    if dirs[2] and not args.json then
      output.write(("== %s\n"):format(text_of.escape(dir)))
    end
    local one, message, why = perform(dir)
    code = math.max(code, one or ending.refused(message, why, dir))
  end
  return code
end

---@param own skillrt.Option[]
---@return skillrt.Option[]
function M.options(own)
  local all = table.move(own, 1, #own, 1, {})
  table.move(M.FILTERS, 1, #M.FILTERS, #all + 1, all)
  all[#all + 1] = { name = "all", help = "does it with all runs that the filters choose, without asking" }
  return all
end

---The argument of a command that works on one run.
M.RUN = { name = "DIR", optional = true, is_run = true,
  help = "the directory of the run; default: the project's last run" }

---The argument of a command that works on several runs.
M.ARGUMENT = { name = "DIR", many = true, optional = true, help = "directories of runs; default: the "
  .. "project's last run. With a filter (--status ... --skill): folders of runs; default: the project's" }

return M
