-- cli/command/worker.lua: `skillrt worker PLACE`: has its processes perform the runs of a queue.
--
-- A process claims and performs many runs (cli/performer.lua). Where one dies, another one takes its place, its runs
-- are resumed, and those that may be why are performed each in a process of its own, so that they take no other along.
-- All end with the worker.

local core = require("skillrt.core")
local ending = require("skillrt.cli.ending")
local exit_codes = require("skillrt.cli.exit_codes")
local json = require("skillrt.base.json")
local names = require("skillrt.base.names")
local output = require("skillrt.report.output")
local terminal_text = require("skillrt.base.terminal_text")

local US <const> = "/proc/self/exe"
local POLL_MS <const> = 1000
local MOST_SAID <const> = 4096
local LONGEST <const> = 65536 -- of what a process says
local MOST <const>, MOST_PROCESSES <const>, MOST_ALONE <const> = 1000, 8, 16

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
    { name = "processes", value = "N", help = "of a database: how many processes perform them; default: 1" },
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
  if exit_codes.refuses(code) then
    ending.complain(("%s: ended with %d: %s"):format(url, code, said))
  else
    tell(worker, ("%s: %s"):format(url, words or outcome(url, code)))
  end
end

---@class skillrt.WorkerProcess
---@field program userdata
---@field urls table<string, integer>  the runs it has, and since when
---@field lines userdata?   what it says; nil: it performs one run, and says nothing of it
---@field refused table?     why it performs none: { message, code }
---@field loading string?   the run whose code it loads
---@field slot table?       of a process with many runs: its place in worker.slots
---@field by skillrt.WorkerProcess?  of one that performs one run: which process has claimed it

-- Starts a process; nil where that fails, which is said.
local function start(worker, process, argv, input)
  local program, why = core.serve.start(argv, input, false)
  if not program then
    ending.complain(tostring(why))
    return nil
  end
  process.program, process.urls = program, process.urls or {}
  worker.programs[#worker.programs + 1] = program
  worker.processes[#worker.processes + 1] = process
  return process
end

-- Starts the processes that are missing, each at most once a second.
local function begin(worker)
  local now = core.mono_ms()
  for _, slot in ipairs(worker.slots) do
    if not slot.process and now >= slot.at then
      slot.at = now + POLL_MS
      local argv = { US, "worker", worker.place, "--submitted", "--queue", worker.queue, "--concurrency",
        tostring(slot.most), worker.once and "--once" or nil }
      slot.process = start(worker, { slot = slot }, argv)
      if slot.process then
        slot.process.lines = core.serve.lines(LONGEST, slot.process.program)
      end
    end
  end
end

-- Tells the process that claimed a run how the one that performed it alone has ended, unless that process is gone.
local function say_settled(by, url, code)
  if by.slot.process == by then
    by.program:say(json.encode({ url = url, refused = exit_codes.refuses(code) }) .. "\n")
  end
end

-- Begins the runs that are to be alone.
local function begin_alone(worker)
  while worker.alone[1] and #worker.processes < #worker.slots + MOST_ALONE do
    local one = table.remove(worker.alone, 1)
    local process = { urls = { [one.url] = core.wall_ms() }, by = one.by }
    if not start(worker, process, { US, "resume", one.url, "--submitted", "--quiet" }, "") then
      say_settled(one.by, one.url, exit_codes.internal)
    end
  end
end

local function complain(worker, message)
  if message and message ~= worker.problem then
    ending.complain(message)
  end
  worker.problem = message
end

-- What a process with many runs says.
local function listen(worker, process)
  local line = process.lines:next()
  while line do
    local said = json.decode(line) --[[@as table]]
    local url = said.url
    if said.state == "ready" then
      worker.is_ready = true
    elseif said.state == "refused" then
      process.refused = said
    elseif not url then
      complain(worker, said.message)
    else
      process.loading = said.state == "loading" and url or nil
    end
    if said.state == "loading" then
      process.urls[url] = core.wall_ms()
      tell(worker, url .. ": begun")
    elseif said.state == "alone" then
      process.urls[url] = nil
      worker.alone[#worker.alone + 1] = { url = url, by = process }
    elseif said.state == "over" then
      process.urls[url] = nil
      over(worker, url, said.code, said.message, said.words)
    end
    line = process.lines:next()
  end
end

-- A process has ended: what becomes of its runs.
local function reap(worker, process, code)
  local said = process.by and process.program:output(MOST_SAID):gsub("%s+$", "") or ""
  for url, since in pairs(process.urls) do
    local is_cause = process.by or process.loading == url
    if code > KILLED and is_cause then
      died(url, since, said, code)
    end
    over(worker, url, is_cause and code or exit_codes.failed, said)
    if process.by then
      say_settled(process.by, url, code)
    end
  end
  if process.slot then
    if process.refused and worker.is_ready then
      complain(worker, process.refused.message)
    else
      worker.refused = process.refused
    end
    process.slot.process, process.slot.code = nil, code
    process.slot.at = worker.once and code <= KILLED and math.huge or process.slot.at
  end
end

-- What became of runs.
local function look(worker)
  for i = #worker.processes, 1, -1 do
    local process = worker.processes[i]
    local code = process.program:code()
    if process.lines then
      listen(worker, process)
    end
    if code then
      table.remove(worker.processes, i)
      table.remove(worker.programs, i)
      reap(worker, process, code)
    end
  end
end

-- Whether all has ended that there was to be performed once; how.
local function is_over(worker)
  local worst = 0
  for _, slot in ipairs(worker.slots) do
    worst = math.max(worst, slot.code or 0)
    if slot.process or slot.at < math.huge then
      return false
    end
  end
  return not worker.processes[1] and not worker.alone[1], worst
end

-- The whole number of an option from 1 to `most`; nil and what is wrong with it.
local function number_of(option, text, default, most)
  local number = math.tointeger(tonumber(text or default))
  if number and number >= 1 and number <= most then
    return number
  end
  return nil, ("--%s must be a whole number from 1 to %d, not %s"):format(option, most, names.show(text))
end

---@param args table
---@return integer code
function M.run(args)
  local most, wrong = number_of("concurrency", args.concurrency, 8, MOST)
  local processes, also = number_of("processes", args.processes, 1, MOST_PROCESSES)
  local queue, place = args.queue or "default", args.place
  if not names.is_label(queue) then
    wrong = ("--queue: %s is not a valid name: use 1 to 64 of A-Z a-z 0-9 . _ -"):format(names.show(queue))
  end
  if wrong or also then
    return ending.refused(wrong or also, "usage")
  elseif args.submitted then
    return require("skillrt.cli.performer").run(place, queue, most, args.once)
  end
  local is_database = place:find("^postgres") ~= nil
  if processes > 1 and not is_database then
    return ending.refused("--processes: the runs of a folder have one; only those of a database may have more", "usage")
  elseif not is_database and not core.files.stat(place) then
    ending.complain(("%s: is not there"):format(place), "runs are performed once skillrt submit has made it")
  end
  for line in (is_database and core.prepare(place, 0, true) or ""):gmatch("[^\n]+") do
    output.say("warning", terminal_text.escape(line))
  end
  local programs <close> = setmetatable({}, { __close = core.serve.drain })
  local worker = { place = place, queue = queue, programs = programs, processes = {}, alone = {}, slots = {},
    quiet = args.quiet, once = args.once }
  for i = 1, math.min(processes, most) do
    worker.slots[i] = { most = most // processes + (i <= most % processes and 1 or 0), at = 0 }
  end
  repeat
    look(worker)
    if worker.refused then
      return ending.refused(worker.refused.message, worker.refused.code)
    end
    begin(worker)
    begin_alone(worker)
    local has_ended, code = is_over(worker)
    if has_ended then
      return code
    end
  until not core.serve.wait(POLL_MS, nil, programs)
  return exit_codes.interrupted
end

return M
