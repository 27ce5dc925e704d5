-- run.lua: seeded faults of one line (operators.lua), each put into a tree of its own and tried with what `make test`
-- runs where that line has changed: the nearest tests first (tests/nearest.lua), then the simulator, then the rest of
-- the quick set, until one fails; tests of which it is known that they do not run the line are left out. What lives is
-- tried with the nearest of the full set, which are counted apart.
--
-- Run by make/mutants.sh: lua5.4 run.lua choose|baseline|try|report FOLDER PART PARTS TEST... -- TEST_OF_FULL... In
-- FOLDER are chosen (a fault a line), tried-N (a verdict a line) and trees to break. A fault whose tree cannot be built
-- is none; a test that fails in the unbroken tree (baseline), within the same bounds, is left out, and one that has
-- caught a fault has to pass there before it counts.
local nearest = require "tests.nearest"
local operators = require "tests.mutants.operators"

local what, folder, part, parts = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])
local tests, full = {}, {}
do
  local list = tests
  for i = 5, #arg do
    if arg[i] == "--" then
      list = full
    else
      list[#list + 1] = arg[i]
    end
  end
end
local WANTED <const> = tonumber(os.getenv "COUNT" or "") or 200
local SEED <const> = tonumber(os.getenv "SEED" or "") or 1
local NEAREST <const> = 10 -- tests that are tried before the simulator

-- Where a broken tree is built and tried: this process loads nothing of it. Each process is stopped that uses 90 s of a
-- processor or asks for 6 GB, each test after 240 s, which is enough on a busy machine: what a fault makes so slow, or
-- lets hang, is caught.
local IN_TREE <const> = "cd %s && env -u LUA_PATH -u LUA_CPATH "
local RUN <const> = "ulimit -t 90; ulimit -v 6000000; " .. IN_TREE .. "%s JOBS=1 TEST_SECONDS=240 SIM_SEED=1 "
  .. "SIM_SECONDS=15 SKILLRT_MODE=release SKILLRT_BUILD=build/release lua5.4 tests/all.lua %s > %s 2>&1"
local BUILD <const> = IN_TREE
  .. "make -s all build/release/tests/agent_server build/release/examples/embed/host "
  .. "build/release/examples/embed/game %s > build/log 2>&1"

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read "a"
end

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do
    lines[#lines + 1] = line
  end
  return lines
end

-- The lines of a language that a fault fits, each with all of them.
local function lines_with_faults(language)
  local list = {}
  for path in output_of("git ls-files csrc lua"):gmatch "[^\n]+" do
    for number, line in ipairs(path:match "%.(%a+)$" == language and lines_of(path) or {}) do
      local faults = operators.of(line, language)
      if faults[1] then
        list[#list + 1] = { path = path, number = number, faults = faults }
      end
    end
  end
  return list
end

-- Lines of Lua and C in turn, drawn by the seed, each with one fault; twice as many as wanted: some cannot be built.
local function choose()
  math.randomseed(SEED)
  local lines = { c = lines_with_faults "c", lua = lines_with_faults "lua" }
  local file <close> = assert(io.open(folder .. "/chosen", "w"))
  for number = 1, 2 * WANTED do
    local language = number % 2 == 0 and "c" or "lua"
    local line = table.remove(lines[language], math.random(#lines[language]))
    local fault = line.faults[math.random(#line.faults)]
    file:write(("%s\t%d\t%s %s\t%s\n"):format(line.path, line.number, language, fault.operator, fault.text))
  end
end

local function chosen()
  local faults = {}
  for _, line in ipairs(lines_of(folder .. "/chosen")) do
    local path, number, operator, text = line:match "^(.-)\t(.-)\t(.-)\t(.*)$"
    faults[#faults + 1] = { path = path, number = tonumber(number), operator = operator, text = text }
  end
  return faults
end

local SIMULATOR <const> = "build/release/tests/simulate"

local function text_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- Builds what a tree needs for these tests; false where it cannot be built.
local function build(tree, list)
  local programs = {}
  for _, test in ipairs(list) do
    programs[#programs + 1] = not test:find "%.lua$" and test or nil
  end
  return os.execute(BUILD:format(tree, table.concat(programs, " ")))
end

local function first(list, count)
  return table.move(list, 1, math.min(count, #list), 1, {})
end

-- The first of these tests that fails in a tree; false: the tree cannot be built.
local function failed_of(tree, group)
  if not build(tree, group) then
    return false
  elseif not os.execute(RUN:format(tree, "FIRST=1 SIM_FIRST=1", table.concat(group, " "), "build/log")) then
    return text_of(tree .. "/build/log"):match "FAILED %S+%s+(%S+)" or "?"
  end
end

local function with_line(path, number, text)
  local lines = lines_of(path)
  local before = lines[number]
  lines[number] = text
  local file <close> = assert(io.open(path, "w"))
  file:write(table.concat(lines, "\n"), "\n")
  return before
end

local function failing()
  local set = {}
  for line in io.lines(folder .. "/baseline") do
    local name = line:match "^FAILED %S+%s+(%S+)"
    if name then
      set[name] = true
    end
  end
  return set
end

local function set_of(list)
  local set = {}
  for _, test in ipairs(list) do
    set[test] = true
  end
  return set
end

local function without(list, left_out)
  local kept = {}
  for _, test in ipairs(list) do
    kept[#kept + 1] = not (left_out[test] or left_out[test:match "[^/]+$"]) and test or nil
  end
  return kept
end

-- The tests that all.lua means by a title: a path, the name of a program, or the folder of specs that share a process.
local function titled(list, title)
  local tests_meant = {}
  for _, test in ipairs(list) do
    local above, name = test:match "^(.*)/([^/]+)$"
    tests_meant[#tests_meant + 1] = (test == title or name == title or above == title) and test or nil
  end
  return tests_meant
end

-- Runs all tests in a tree that nothing has broken.
local function baseline()
  local tree, path = folder .. "/tree-0", folder .. "/baseline"
  assert(build(tree, { SIMULATOR, table.unpack(tests) }), "the tree cannot be built")
  os.execute(RUN:format(tree, "", SIMULATOR .. " " .. table.concat(tests, " "), path .. ".new"))
  assert(not text_of(path .. ".new"):find "FAILED %S+%s+simulate", "the simulator fails in the unbroken tree")
  assert(os.rename(path .. ".new", path))
end

-- The verdicts of the quick set and the simulator so far, and those of the full set by the place of what lived; of one
-- part, or of all.
local function verdicts(one)
  local tried, later = {}, {}
  for number = one or 0, one or parts - 1 do
    table.move(lines_of(("%s/tried-%d"):format(folder, number)), 1, 1 << 20, #tried + 1, tried)
    for _, line in ipairs(lines_of(("%s/later-%d"):format(folder, number))) do
      local verdict, place = line:match "^(.-)\t(.*)$"
      later[place] = verdict
    end
  end
  return tried, later
end

-- How many of those tried so far were caught.
local function rate()
  local caught, all, by_full = 0, 0, 0
  local tried, later = verdicts()
  for _, line in ipairs(tried) do
    caught = caught + (line:find "^caught" and 1 or 0)
    all = all + (line:find "^not built" and 0 or 1)
  end
  for _, verdict in pairs(later) do
    by_full = by_full + (verdict:find "^full" and 1 or 0)
  end
  local most = math.max(1, all)
  return ("%d of %d caught (%.0f%%), %d with the full set (%.0f%%)"):format(caught, all, 100 * caught / most,
    caught + by_full, 100 * (caught + by_full) / most)
end

-- What each test of the full set takes, of a processor.
local function seconds_of_full()
  local seconds = {}
  for line in io.lines "tests/sets.txt" do
    local name, number = line:match "^full (%S+) (%S+)$"
    seconds[name or ""] = tonumber(number)
  end
  return seconds
end

-- Those tests of a list that have these names, in the order of the names.
local function paths_of(list, names)
  local of_name, paths = {}, {}
  for _, test in ipairs(list) do
    of_name[test], of_name[test:match "[^/]+$"] = test, test
  end
  for _, name in ipairs(names or {}) do
    paths[#paths + 1] = of_name[name]
  end
  return paths
end

-- Tries a fault with some tests, group by group; the tree is unbroken behind it.
local function verdict_of(tree, fault, groups, prefix)
  local path = tree .. "/" .. fault.path
  for _, group in ipairs(groups) do
    if #group > 0 then
      local before = with_line(path, fault.number, fault.text)
      local test = failed_of(tree, group)
      with_line(path, fault.number, before)
      if test == false then
        return "not built"
      elseif test and failed_of(tree, titled(group, test)) ~= test then
        return prefix .. test
      end
    end
  end
  return "survived"
end

local function try_all()
  local left_out, deadline = failing(), os.time() + 60 * (tonumber(os.getenv "MINUTES" or "") or 60)
  local tree, seconds = ("%s/tree-%d"):format(folder, part), seconds_of_full()
  local quick_near = nearest.read("build/nearest/quick.txt", "build/nearest/quick-lines.txt")
  local full_near = nearest.read("tests/nearest.txt", "build/nearest/full-lines.txt")

  -- Tries one within the time, and adds its verdict to a file.
  local function tell(name, fault, groups, prefix, rest)
    if os.time() < deadline then
      local began, verdict = os.time(), verdict_of(tree, fault, groups, prefix)
      local told <close> = assert(io.open(("%s/%s-%d"):format(folder, name, part), "a"))
      told:write(("%s\t%s:%d%s\n"):format(verdict, fault.path, fault.number, rest))
      told:flush()
      print(("%s; %s:%d %s in %d s: %s"):format(rate(), fault.path, fault.number, verdict, os.time() - began,
        fault.text:gsub("^%s+", "")))
      io.stdout:flush()
    end
  end

  local function built()
    local count = 0
    for _, line in ipairs((verdicts(part))) do
      count = count + (line:find "^not built" and 0 or 1)
    end
    return count
  end

  local known, counted, survivors = #verdicts(part), 0, {}
  for number, fault in ipairs(chosen()) do
    survivors[("%s:%d"):format(fault.path, fault.number)] = fault
    if number % parts == part and built() < WANTED / parts then
      counted = counted + 1
      if counted > known then
        local all_known = quick_near:knows_all(fault.path, fault.number)
        local near = paths_of(tests, quick_near:tests(fault.path, { fault.number }))
        near = all_known and near or first(near, NEAREST)
        local joining = paths_of(full, full_near:joining({ { path = fault.path, lines = { fault.number } } }, seconds))
        local quick = table.move(joining, 1, #joining, #near + 1, near)
        local rest = all_known and {} or without(without(tests, set_of(quick)), left_out)
        tell("tried", fault, { without(quick, left_out), { SIMULATOR }, rest }, "caught by ",
          ("\t%s\t%s"):format(fault.operator, fault.text))
      end
    end
  end
  local tried, later = verdicts(part)
  for _, line in ipairs(tried) do
    local place = line:match "^survived\t(.-)\t"
    if place and not later[place] then
      local fault = survivors[place]
      local lines = { fault.number }
      local joined = set_of(paths_of(full, full_near:joining({ { path = fault.path, lines = lines } }, seconds)))
      local rest = without(paths_of(full, full_near:tests(fault.path, lines)), joined)
      tell("later", fault, { rest }, "full set: caught by ", "")
    end
  end
end

-- Why a survivor may live, as people wrote it: "path<tab>the line as it stands<tab>what it becomes<tab>why".
local function explained()
  local why = {}
  for line in io.lines "tests/mutants/explained.txt" do
    local key, words = line:match "^([^#\t][^\t]*\t[^\t]*\t[^\t]*)\t(.*)$"
    if key then
      why[key] = words
    end
  end
  return why
end

-- The line at a place, without its indent.
local function line_at(path, number)
  for line in io.lines(path) do
    number = number - 1
    if number == 0 then
      return (line:gsub("^%s+", ""))
    end
  end
end

local function report()
  local rows, names, survivors, all = {}, {}, {}, 0
  local tried, later = verdicts()
  for _, line in ipairs(tried) do
    local verdict, place, operator, text = line:match "^(.-)\t(.-)\t(.-)\t(.*)$"
    if verdict ~= "not built" and all < WANTED then
      local row = rows[operator] or { caught = 0, all = 0 }
      if not rows[operator] then
        rows[operator] = row
        names[#names + 1] = operator
      end
      local seen = verdict:find "^caught" and 1 or 0
      row.caught, row.all, all = row.caught + seen, row.all + 1, all + 1
      if seen == 0 then
        survivors[#survivors + 1] = { verdict = later[place] or verdict, place = place, text = text:gsub("^%s+", "") }
      end
    end
  end
  table.sort(names)
  print(("%s, seed %d\n\n| operator | faults | caught |\n|---|---|---|"):format(rate(), SEED))
  for _, name in ipairs(names) do
    print(("| %s | %d | %d |"):format(name, rows[name].all, rows[name].caught))
  end
  print "\n| survivor | becomes | why |\n|---|---|---|"
  local why, harmless = explained(), 0
  for _, one in ipairs(survivors) do
    local path, number = one.place:match "^(.*):(%d+)$"
    local words = why[("%s\t%s\t%s"):format(path, line_at(path, tonumber(number)), one.text)]
    harmless = harmless + (words and 1 or 0)
    print(("| %s | `%s` | %s |"):format(one.place, one.text:gsub("|", "\\|"), words or one.verdict))
  end
  local faults = math.max(1, all - harmless)
  print(("\n%d may live; of the others %d of %d caught (%.0f%%)"):format(harmless, all - #survivors, faults,
    100 * (all - #survivors) / faults))
end

if what == "choose" then
  choose()
elseif what == "baseline" then
  baseline()
elseif what == "try" then
  try_all()
elseif what == "report" then
  report()
end
