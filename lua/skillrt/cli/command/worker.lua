-- cli/command/worker.lua: `skillrt worker PLACE`: performs the runs of a queue, several at a time, each in a process of
-- its own as `skillrt serve` has them: one that dies takes no other along. They end with the worker.

local core = require("skillrt.core")
local ending = require("skillrt.cli.ending")
local exit_codes = require("skillrt.cli.exit_codes")
local output = require("skillrt.report.output")

local US <const> = "/proc/self/exe"
local POLL_MS <const> = 1000
local MOST_SAID <const> = 4096

-- Exit codes of a process that has not performed its run: the claim stays for a while, so that it is not tried at once.
local REFUSED <const> = { [exit_codes.usage] = true, [exit_codes.busy] = true, [exit_codes.damaged] = true,
  [exit_codes.changed] = true, [exit_codes.internal] = true, [137] = true }

local KILLED <const> = 128 -- above it, an exit code names a signal

local M = {
  name = "worker",
  summary = "Performs submitted, due and interrupted runs of a folder or a database, several at a time",
  description = "SIGTERM: begins no more, cancels calls that may be repeated, lets the others end, and gives the runs "
    .. "back. What was submitted to "
    .. "PLACE runs with your permissions: whoever may write there may run code here.",
  arguments = { { name = "PLACE", help = "a folder of runs, or a database: postgres://USER@HOST/DATABASE" } },
  options = {
    { name = "concurrency", value = "N", help = "the most runs at the same time; default: 8" },
    { name = "queue", value = "NAME", help = "the queue; default: default" },
    { name = "once", help = "ends when no run can be performed now" },
    { name = "quiet", help = "prints errors only" },
  },
}

-- A process was killed: where it has not even recorded that it resumes the run, that is recorded for it, so that a run
-- that kills whoever loads it is found out.
local function died(url, since, said, code)
  local books = require("skillrt.run.look").books(url)
  if not books or (books.opened_at or 0) >= since then
    return
  end
  local travel = require("skillrt.run.travel")
  local message = ("a process ended with %d before it recorded anything%s"):format(code,
    said ~= "" and ": " .. said or "")
  travel.write(url, { travel.stop(require("skillrt.skill.limit.poison").DIED, message, core.wall_ms()) })
end

-- How a run is after its process has ended with this code; the message of one that failed or paused is its first line.
local function outcome(url, code)
  local books = require("skillrt.run.look").books(url)
  local status = books and require("skillrt.run.look").standing(books.status)
  if not status or status == "completed" then
    return ("%s: %s"):format(url, status or ("ended with %d"):format(code))
  end
  local line = (books.message or ""):match("[^\n]+")
  return ("%s: %s (%s)%s"):format(url, status, books.reason or "its process is gone", line and ": " .. line or "")
end

-- What became of runs whose processes have ended.
local function reap(worker)
  local programs = worker.programs
  for i = #programs, 1, -1 do
    local program = programs[i]
    local code = program:code()
    if code then
      local said = program:output(MOST_SAID):gsub("%s+$", "")
      local url, since = worker.urls[program], worker.begun[program]
      table.remove(programs, i)
      if code > KILLED then
        died(url, since, said, code)
      end
      if not REFUSED[code] then
        worker.claims:settle(url)
      end
      if REFUSED[code] and code ~= exit_codes.busy then
        ending.complain(("%s: ended with %d: %s"):format(url, code, said))
      elseif not worker.quiet then
        output.write(require("skillrt.base.terminal_text").escape(outcome(url, code)) .. "\n")
      end
    end
  end
end

-- Begins what there is room for; whether something may be left that waits.
local function begin(worker)
  local urls, message = worker.claims:take(worker.most - #worker.programs)
  if not urls and message ~= worker.problem then
    ending.complain(message)
  end
  worker.problem = message
  for _, url in ipairs(urls or {}) do
    local now = core.wall_ms()
    local program, why = core.serve.start({ US, "resume", url, "--submitted", "--quiet" }, "", false)
    if program then
      worker.programs[#worker.programs + 1], worker.urls[program] = program, url
      worker.begun[program] = now
      if not worker.quiet then
        output.write(require("skillrt.base.terminal_text").escape(url .. ": begun") .. "\n")
      end
    else
      ending.complain(tostring(why))
    end
  end
end

---@param args table
---@return integer code
function M.run(args)
  local most = math.tointeger(tonumber(args.concurrency or 8))
  if not most or most < 1 or most > 40 then
    return ending.refused("--concurrency: must be a whole number from 1 to 40", "usage")
  end
  if not args.place:find("^postgres") and not core.files.stat(args.place) then
    ending.complain(("%s: is not there"):format(args.place), "runs are performed once skillrt submit has made it")
  end
  local claims, message, code = core.claims(args.place, args.queue or "default")
  if not claims then
    return ending.refused(message, code)
  end
  local programs <close> = setmetatable({}, { __close = core.serve.drain })
  local worker = { claims = claims, most = most, programs = programs, urls = {}, begun = {}, quiet = args.quiet }
  repeat
    reap(worker)
    begin(worker)
    if args.once and not programs[1] then
      return worker.problem and exit_codes.failed or 0
    end
  until not core.serve.wait(POLL_MS + math.random(0, POLL_MS // 2), nil, programs)
  return exit_codes.interrupted
end

return M
