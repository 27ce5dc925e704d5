-- cli/command/worker.lua: `skillrt worker PLACE`: claims the runs of a queue and has its processes perform them.
--
-- A process performs many runs (cli/performer.lua). Where it dies, its runs are resumed, and those that may be why are
-- performed each in a process of its own, so that they take no other along. All end with the worker.

local core = require("skillrt.core")
local ending = require("skillrt.cli.ending")
local exit_codes = require("skillrt.cli.exit_codes")
local json = require("skillrt.base.json")
local output = require("skillrt.report.output")
local terminal_text = require("skillrt.base.terminal_text")

local US <const> = "/proc/self/exe"
local POLL_MS <const> = 1000
-- So long a worker waits for more runs to end where less than an eighth of them has, and claims for all together.
local GATHER_MS <const>, GATHERED <const> = 20, 8
local MOST_SAID <const> = 4096
local LONGEST <const> = 65536 -- of what a process says
local MOST <const>, MOST_PROCESSES <const>, MOST_ALONE <const> = 1000, 8, 16

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
    { name = "processes", value = "N", help = "how many processes perform them; default: 1" },
    { name = "queue", value = "NAME", help = "the queue; default: default" },
    { name = "once", help = "ends when no run can be performed now" },
    { name = "quiet", help = "prints errors only" },
  },
  inner = { { name = "submitted" } }, -- is one of its processes
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

-- How a run is whose process has ended with this code.
local function outcome(url, code)
  local books = require("skillrt.run.look").books(url)
  local status = books and require("skillrt.run.look").standing(books.status)
  return status and require("skillrt.cli.performer").words(status, books.reason or "its process is gone", books.message)
    or ("ended with %d"):format(code)
end

local function tell(worker, text)
  if not worker.quiet then
    output.write(terminal_text.escape(text) .. "\n")
  end
end

-- A run is not performed any more. `said`: what its process said; `words`: how it is, where that is known.
local function over(worker, url, code, said, words)
  worker.count = worker.count - 1
  if not REFUSED[code] then
    worker.claims:settle(url)
  end
  if REFUSED[code] and code ~= exit_codes.busy then
    ending.complain(("%s: ended with %d: %s"):format(url, code, said))
  else
    tell(worker, ("%s: %s"):format(url, words or outcome(url, code)))
  end
end

-- Starts a process; nil where that fails, which is said.
local function start(worker, process, argv, input)
  local program, why = core.serve.start(argv, input, false)
  if not program then
    ending.complain(tostring(why))
    return nil
  end
  process.program = program
  worker.programs[#worker.programs + 1] = program
  worker.processes[#worker.processes + 1] = process
  return process
end

---@class skillrt.WorkerProcess
---@field program userdata
---@field urls table<string, integer>  the runs it has, and since when
---@field count integer  how many
---@field alone boolean    it performs one run, and says nothing of it
---@field lines userdata?   what it says otherwise
---@field loading string?  the run whose code it loads

-- The process that has the fewest runs; one more, up to the number that was asked for.
local function process_for(worker)
  local least, count = nil, 0
  for _, process in ipairs(worker.processes) do
    if not process.alone then
      count = count + 1
      least = (not least or process.count < least.count) and process or least
    end
  end
  if count < worker.most_processes and not (least and least.count == 0) then
    least = start(worker, { urls = {}, count = 0, alone = false }, { US, "worker", worker.place, "--submitted" })
    if least then
      least.lines = core.serve.lines(LONGEST, least.program)
    end
  end
  return least
end

local function give(process, url)
  process.urls[url], process.count = core.wall_ms(), process.count + 1
  process.program:say(url .. "\n")
end

local function take_away(process, url)
  process.urls[url], process.count = nil, process.count - 1
end

-- What a process with many runs says of them.
local function listen(worker, process)
  local line = process.lines:next()
  while line do
    local said = json.decode(line) --[[@as table]]
    local url = said.url
    process.loading = said.state == "loading" and url or nil
    if said.state == "alone" then
      take_away(process, url)
      worker.alone[#worker.alone + 1] = url
    elseif said.state == "over" then
      take_away(process, url)
      over(worker, url, said.code, said.message, said.words)
    end
    line = process.lines:next()
  end
end

-- A process has ended: what becomes of its runs.
local function reap(worker, process, code)
  local said = not process.alone and "" or process.program:output(MOST_SAID):gsub("%s+$", "")
  for url, since in pairs(process.urls) do
    local is_cause = process.alone or process.loading == url
    if code > KILLED and is_cause then
      died(url, since, said, code)
    end
    over(worker, url, is_cause and code or exit_codes.failed, said)
  end
end

-- What became of runs.
local function look(worker)
  for i = #worker.processes, 1, -1 do
    local process = worker.processes[i]
    local code = process.program:code()
    if not process.alone then
      listen(worker, process)
    end
    if code then
      table.remove(worker.processes, i)
      table.remove(worker.programs, i)
      reap(worker, process, code)
    end
  end
end

-- Begins the runs that are to be alone.
local function begin_alone(worker)
  while worker.alone[1] and #worker.processes < worker.most_processes + MOST_ALONE do
    local url = table.remove(worker.alone, 1)
    local process = { urls = { [url] = core.wall_ms() }, count = 1, alone = true }
    if not start(worker, process, { US, "resume", url, "--submitted", "--quiet" }, "") then
      worker.count = worker.count - 1
    end
  end
end

-- Begins what there is room for. Where runs end one soon after the other, claims what follows them together. Returns
-- after how many ms to look again.
local function begin(worker)
  begin_alone(worker)
  local room, wait = worker.most - worker.count, worker.claimed_at + GATHER_MS - core.mono_ms()
  if room < worker.most // GATHERED and wait > 0 then
    return wait
  end
  worker.claimed_at = core.mono_ms()
  local urls, message = worker.claims:take(room)
  if not urls and message ~= worker.problem then
    ending.complain(message)
  end
  worker.problem = message
  for _, url in ipairs(urls or {}) do
    local process = process_for(worker)
    if process then
      worker.count = worker.count + 1
      give(process, url)
      tell(worker, url .. ": begun")
    end
  end
  return POLL_MS + math.random(0, POLL_MS // 2)
end

-- A whole number of an option from 1 to `most`; nil: it is none.
local function number_of(text, default, most)
  local number = math.tointeger(tonumber(text or default))
  return number and number >= 1 and number <= most and number or nil
end

---@param args table
---@return integer code
function M.run(args)
  if args.submitted then
    return require("skillrt.cli.performer").run()
  end
  local most, processes = number_of(args.concurrency, 8, MOST), number_of(args.processes, 1, MOST_PROCESSES)
  if not most or not processes then
    return ending.refused(("--concurrency: must be a whole number from 1 to %d, --processes from 1 to %d"):format(MOST,
      MOST_PROCESSES), "usage")
  end
  local is_database = args.place:find("^postgres") ~= nil
  if not is_database and not core.files.stat(args.place) then
    ending.complain(("%s: is not there"):format(args.place), "runs are performed once skillrt submit has made it")
  end
  local claims, message, code = core.claims(args.place, args.queue or "default")
  if not claims then
    return ending.refused(message, code)
  end
  for line in (is_database and core.prepare(args.place, 0, true) or ""):gmatch("[^\n]+") do
    output.say("warning", terminal_text.escape(line))
  end
  local programs <close> = setmetatable({}, { __close = core.serve.drain })
  local worker = { place = args.place, claims = claims, most = most, most_processes = processes, programs = programs,
    processes = {}, alone = {}, count = 0, claimed_at = 0, quiet = args.quiet }
  local wait
  repeat
    look(worker)
    wait = begin(worker)
    if args.once and worker.count == 0 then
      for i = #programs, 1, -1 do -- they have nothing to do
        programs[i]:stop(true)
        programs[i] = nil
      end
      return worker.problem and exit_codes.failed or 0
    end
  until not core.serve.wait(wait, nil, programs)
  return exit_codes.interrupted
end

return M
