-- all.lua: runs the test programs and specs named on its command line, one process each, under
-- a time limit, some at once, tells of them in the order they were
-- named in, and closes with one plain line "N passed, N failed".
--
-- Called by the Makefile: lua5.4 tests/all.lua lint|PROGRAM|SPEC|FUZZER|DRIVER... What it is called
-- with tells its kind: *_spec.lua goes to busted, build/fuzz/* is a libFuzzer target, another
-- fuzz_* replays its corpus, another *.lua is a driver, and all else prints check.h's last line.
-- Specs of a folder of tests/lua share a process: to start one takes longer than most of them.
-- Environment: ONLY (part of a name), SET (quick, full or nightly: tests/sets.txt; ONLY asks for any), LUA,
-- SPEC_ENV (before busted), FUZZ_SECONDS, TEST_SECONDS, JOBS (how many at once; one more than there are processors),
-- FIRST (ends at the first that fails).

package.path = "./?.lua;" .. package.path
local nearest = require "tests.nearest"

local lua = os.getenv "LUA" or "lua5.4"
local only = os.getenv "ONLY" or ""
local set = os.getenv "SET" or "nightly"
local fuzz_seconds = tonumber(os.getenv "FUZZ_SECONDS" or "") or 60
-- of a machine that is busy with others, too
local limit = tonumber(os.getenv "TEST_SECONDS" or "") or (os.getenv "SKILLRT_NIGHTLY" and 7200 or 600)

local function quoted(text)
  return "'" .. text:gsub("'", [['\'']]) .. "'"
end

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a" or ""
end

-- the last line of the output that is "N passed, N failed[, N skipped]"
local function closing_line(output)
  local passed, failed, skipped
  for line in output:gmatch "[^\n]+" do
    local p, f, rest = line:match "^%s*(%d+) passed, (%d+) failed(.*)$"
    if p then
      passed, failed, skipped = tonumber(p), tonumber(f), tonumber(rest:match "^, (%d+) skipped" or 0)
    end
  end
  return passed, failed, skipped
end

local function busted_line(output)
  local p, f, e, s =
    output:match "(%d+) success%a* / (%d+) failure%a* / (%d+) error%a* / (%d+) pending"
  if p then
    return tonumber(p), tonumber(f) + tonumber(e), tonumber(s)
  end
end

-- a fuzz target or driver is one test: it ended well or it did not
local function by_exit_code(_, ok)
  return ok and 1 or 0, ok and 0 or 1, 0
end

-- glibc fills what malloc gives and what free takes, so that who reads it fails, and does not find zeros by chance.
local FILLED <const> = "env MALLOC_PERTURB_=165 "

-- Specs that busted runs one behind the other, under the very interpreter the modules are for.
local function specs_job(title, paths)
  local run = [[-e 'require "busted.runner" { standalone = false }' /dev/null --ignore-lua]]
  local words = {}
  for i, path in ipairs(paths) do
    words[i] = quoted(path)
  end
  return {
    title = "spec " .. title,
    command = FILLED .. ("env XDG_STATE_HOME=\"$PWD/build/state\" %s %s %s -o plainTerminal %s"):format(
      os.getenv "SPEC_ENV" or "", lua, run, table.concat(words, " ")),
    count = busted_line,
    limit = limit,
  }
end

-- What to run for a path, how to count, and how long it may take.
local function job_for(path)
  local name = path:match "([^/]+)$"
  if path == "lint" then
    return { title = "lint", command = "make -s lint", count = closing_line, limit = limit }
  elseif path:match "_spec%.lua$" then
    return specs_job(path, { path })
  elseif path:match "^build/fuzz/" then
    local seeds = "tests/fuzz/corpus/" .. name:gsub("^fuzz_", "")
    local found = "build/fuzz/corpus/" .. name
    os.execute(("mkdir -p %s %s"):format(quoted(found), quoted(seeds)))
    return {
      title = "fuzz " .. name,
      command = ("%s -max_total_time=%d -timeout=10 -rss_limit_mb=2048 -artifact_prefix=build/fuzz/%s- %s %s"):format(
        path, fuzz_seconds, name, quoted(found), quoted(seeds)
      ),
      count = by_exit_code,
      limit = fuzz_seconds + 60,
    }
  elseif name:match "^fuzz_" and not name:match "%.lua$" then
    local seeds = "tests/fuzz/corpus/" .. name:gsub("^fuzz_", "")
    return { title = "corpus " .. name, command = path .. " " .. quoted(seeds), count = by_exit_code, limit = limit }
  elseif name:match "%.lua$" then
    return { title = "fuzz " .. path, command = lua .. " " .. path, count = by_exit_code, limit = fuzz_seconds + 120 }
  end
  return { title = "C    " .. name, command = FILLED .. path, count = closing_line, limit = limit }
end

local function show(output, max_lines)
  local lines = {}
  for line in (output .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line
  end
  local from = math.max(1, #lines - max_lines)
  if from > 1 then
    print(("  | ... %d lines before"):format(from - 1))
  end
  for i = from, #lines do
    print("  | " .. lines[i])
  end
end

-- How many inputs a fuzz target has tried.
local function last_number(job)
  local output = job.count == by_exit_code and job.output or ""
  return output:match "stat::number_of_executed_units: (%d+)" or output:match "^.*#(%d+)%s+DONE"
end

-- Starts a job; the line `number` in the file `ended` tells that it is over.
local function start(job, number, ended)
  job.log, job.started = job.log or os.tmpname(), job.started or os.time()
  job.process = io.popen(
    ("timeout -k 10 %d %s >%s 2>&1 </dev/null; code=$?; times >%s; echo %d >%s; exit $code"):format(
      job.limit, job.command, quoted(job.log), quoted(job.log .. ".times"), number, quoted(ended)
    )
  )
end

-- LeakSanitizer looks at a process's memory from a tracer of its own, at exit, and now and then
-- that tracer is what crashes (google/sanitizers issue 1353). Such an end says nothing of the
-- program, for or against: the leaks have not been looked for. So the whole program runs again.
local TRACER_CRASHED = "Tracer caught signal %d+.-LeakSanitizer has encountered a fatal error"
local TRIES = 3

local function only_the_tracer_crashed(job, ok, output)
  if ok or not output:find(TRACER_CRASHED) then
    return false
  elseif job.count == by_exit_code then
    return not output:find("SUMMARY: ", 1, true) -- the last line of whatever a sanitizer found
  end
  local _, failed = job.count(output, ok)
  return failed == 0
end

-- The processor time of a job and of all that it waited for, by the second line of the shell's `times`.
local function processor_seconds(path)
  local seconds = 0
  for minutes, rest in (read(path):match "\n(.*)" or ""):gmatch "(%d+)m([%d.]+)s" do
    seconds = seconds + 60 * tonumber(minutes) + tonumber(rest)
  end
  os.remove(path)
  return seconds
end

-- A job whose process is over: true when it is to be tried again, else its line is known.
local function over(job)
  local ok, _, code = job.process:close()
  local output = read(job.log)
  job.processor = (job.processor or 0) + processor_seconds(job.log .. ".times")
  job.tries = (job.tries or 0) + 1
  if only_the_tracer_crashed(job, ok, output) and job.tries < TRIES then
    return true
  end
  os.remove(job.log)
  job.ok, job.code, job.output, job.seconds = ok, code, output, os.time() - job.started
  return false
end

-- What a job that is over counted, and in a word why it failed where it does not say so itself.
local function judged(job)
  local passed, failed, skipped = job.count(job.output, job.ok)
  local code, why = job.code, ""
  if not passed then
    passed, failed, skipped, why = 0, 1, 0, "ended before its last line"
  elseif not job.ok and failed == 0 then
    failed, why = 1, code > 128 and "died by signal " .. code - 128 or "exit code " .. code
  elseif passed + failed + skipped == 0 then
    failed, why = 1, "holds no test"
  end
  if code == 124 or code == 137 then
    why = ("stopped after %d s"):format(job.limit)
  end
  return passed, failed, skipped, why
end

-- Prints a job's line (and its output when it failed); returns passed, failed, skipped.
local function tell(job)
  for _ = 2, job.tries do
    print(("again  %-52s the tracer of LeakSanitizer crashed, so no leak was looked for"):format(job.title))
  end
  local passed, failed, skipped, why = judged(job)
  local units = last_number(job)
  print(("%-6s %-52s %4d passed, %d failed%s  %d s (%.1f s of a processor) %s%s"):format(
    failed == 0 and "ok" or "FAILED", job.title, passed, failed,
    skipped > 0 and (", %d skipped"):format(skipped) or "", job.seconds, job.processor, why,
    units and units .. " inputs" or ""
  ))
  for line in job.output:gmatch "[^\n]+" do -- what a test driver counted is told also when all went well
    if line:match "^#? ?%d+ points, " then
      print("  " .. line)
    end
  end
  if failed > 0 then
    show(job.output, 200)
  end
  io.stdout:flush()
  return passed, failed, skipped
end

-- Some tests wait more than they compute, so that one more than there are processors is no crowd.
local function at_once()
  local asked <close> = io.popen "getconf _NPROCESSORS_ONLN"
  return tonumber(os.getenv "JOBS" or "") or (asked:read "n" or 1) + 1
end

-- Runs the jobs; calls each(job) in their order, when it and all before it are over.
local function run(jobs, each)
  local pipe, most = os.tmpname(), at_once()
  os.remove(pipe)
  assert(os.execute("mkfifo -m 600 " .. quoted(pipe)))
  -- A shell reads it until a 0 comes, as no job inherits a stream of popen: one that did could make it one that does
  -- not wait.
  local reader = 'while read -r number && [ "$number" != 0 ]; do echo "$number"; done <>'
  local ended <close> = assert(io.popen(reader .. quoted(pipe)))
  local next_job, told, under_way = 1, 0, 0
  while told < #jobs do
    while under_way < most and jobs[next_job] do
      start(jobs[next_job], next_job, pipe)
      next_job, under_way = next_job + 1, under_way + 1
    end
    local number = ended:read "n"
    if over(jobs[number]) then
      start(jobs[number], number, pipe)
    else
      under_way = under_way - 1
    end
    while jobs[told + 1] and jobs[told + 1].seconds do
      told = told + 1
      each(jobs[told])
    end
  end
  assert(os.execute("echo 0 >" .. quoted(pipe)))
  os.remove(pipe)
end

-- Those of the paths that are asked for: by name, or by the set they are in; to the quick set come those that run what
-- has changed since the last commit.
local function asked_for()
  local ranks, set_of, seconds_of, list = { quick = 1, full = 2, nightly = 3 }, {}, {}, {}
  for line in io.lines "tests/sets.txt" do
    local word, what, seconds = line:match "^(%a+) (%S+) ?(%S*)$"
    set_of[what or ""], seconds_of[what or ""] = word, tonumber(seconds)
  end
  local seconds, path_of = {}, {}
  for _, path in ipairs(arg) do
    local name = path:match "([^/]+)$"
    local known = set_of[path] and path or name
    local in_set = set_of[known] or "quick"
    if path:find(only, 1, true) and (only ~= "" or ranks[in_set] <= ranks[set]) then
      list[#list + 1] = path
    elseif only == "" then
      seconds[known], path_of[known] = seconds_of[known], path
    end
  end
  local joining = {}
  if set == "quick" and next(seconds) then
    local known = nearest.read("tests/nearest.txt", "build/nearest/full-lines.txt")
    for i, name in ipairs(known:joining(nearest.changed(), seconds)) do
      joining[i] = path_of[name]
    end
  end
  return table.move(joining, 1, #joining, #list + 1, list), joining
end

-- A job for each path, but one for all specs of a folder below tests/lua, in the place of the first.
local function jobs_for(paths)
  local jobs, folders = {}, {}
  for _, path in ipairs(paths) do
    local folder = path:match "^(tests/lua/.+)/[^/]+_spec%.lua$"
    if not folder or folder == "tests/lua/base" then -- json_spec.lua finds lua-cjson as no one before it left it
      jobs[#jobs + 1] = job_for(path)
    elseif not folders[folder] then
      folders[folder] = { path }
      jobs[#jobs + 1] = { folder = folder }
    else
      table.insert(folders[folder], path)
    end
  end
  for i, job in ipairs(jobs) do
    local inside = folders[job.folder]
    if inside then
      jobs[i] = specs_job(inside[2] and ("%s (%d files)"):format(job.folder, #inside) or inside[1], inside)
    end
  end
  return jobs
end

local function main()
  local passed, failed, skipped = 0, 0, 0
  local paths, joining = asked_for()
  local jobs = jobs_for(paths)
  for _, path in ipairs(joining) do
    print(("join   %s: it is near to what has changed"):format(path))
  end
  run(jobs, function(job)
    local p, f, s = tell(job)
    passed, failed, skipped = passed + p, failed + f, skipped + s
    if failed > 0 and os.getenv "FIRST" then
      os.exit(false)
    end
  end)
  if passed + failed == 0 then
    print(only ~= "" and ("all.lua: no test's name holds '%s'"):format(only) or "all.lua: there are no tests")
    failed = 1
  end
  local rest = skipped > 0 and (", %d skipped"):format(skipped) or ""
  print(("%d passed, %d failed%s"):format(passed, failed, rest))
  return failed == 0
end

os.exit(main())
