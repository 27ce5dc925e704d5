-- run.lua: seeded faults of one line (operators.lua), each put into a tree of its own and tried with the tests that run
-- that line (covered.lua), until one of them fails, and in the end with the simulator.
--
-- Run by make/mutants.sh: lua5.4 run.lua cover|choose|try|report FOLDER PART PARTS TEST... In FOLDER lie covered/
-- (what each test runs), chosen (a fault a line), tried-N (a verdict a line) and trees to break. A fault whose tree
-- cannot be built is none; a test that fails in the unbroken tree (baseline) is left out.
local covered = require "tests.mutants.covered"
local operators = require "tests.mutants.operators"

local what, folder, part, parts = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])
local tests = table.move(arg, 5, #arg, 1, {})
local WANTED <const> = tonumber(os.getenv "COUNT" or "") or 200
local SEED <const> = tonumber(os.getenv "SEED" or "") or 1
local MOST_SECONDS <const> = 240 -- of tests for one fault; what is not caught by then is a survivor, which is said

-- Where a broken tree is built and tried: what this process loads is not what is tried there.
local IN_TREE <const> = "cd %s && env -u LUA_PATH -u LUA_CPATH "
local RELEASE <const> = "SKILLRT_MODE=release SKILLRT_BUILD=build/release "

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

-- The tree with one line changed, built, and a program of it linked; false where it cannot be built.
local function build(tree, program)
  return os.execute((IN_TREE .. "make -s $MAKE_WORDS all %s > build/log 2>&1"):format(tree, program))
end

-- "caught by TEST", "survived", "not built" or "no test runs it"
local function try(tree, by)
  if not build(tree, SIMULATOR) then
    return "not built"
  end
  local spent = 0
  for _, test in ipairs(by) do
    local path = test.test:gsub("^build/cover/", "build/release/")
    local limit = 20 + 4 * test.seconds -- one that hangs is caught
    local began = os.time()
    local command = IN_TREE .. "JOBS=1 TEST_SECONDS=%d " .. RELEASE .. "lua5.4 tests/all.lua %s > build/log 2>&1"
    local built = path:find "%.lua$" or build(tree, path)
    if not built or not os.execute(command:format(tree, limit, path)) then
      return built and "caught by " .. path or "not built"
    end
    spent = spent + os.time() - began
    if spent > MOST_SECONDS then
      break
    end
  end
  local simulate = IN_TREE .. "SIM_SEED=1 SIM_SECONDS=15 SIM_FIRST=1 timeout 600 %s > build/log 2>&1"
  if not os.execute(simulate:format(tree, SIMULATOR)) then -- seeds that pass where nothing is broken
    return "caught by the simulator"
  end
  return not by[1] and "no test runs it" or spent > MOST_SECONDS and "survived; cut short" or "survived"
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
      set["build/cover/tests/" .. name] = true
    end
  end
  return set
end

-- The tests that run a line; of a statement over several lines Lua tells the first or the last.
local function tests_of(by_line, fault)
  for distance = 0, 8 do
    for _, number in ipairs({ fault.number - distance, fault.number + distance }) do
      local tests_there = by_line[fault.path .. ":" .. number]
      if tests_there then
        return tests_there
      end
    end
  end
end

local function without(by, left_out)
  local kept = {}
  for _, test in ipairs(by or {}) do
    kept[#kept + 1] = not left_out[test.test] and test or nil
  end
  return kept
end

local function try_all()
  local left_out, deadline = failing(), os.time() + 60 * (tonumber(os.getenv "MINUTES" or "") or 60)
  local tree = ("%s/tree-%d"):format(folder, part)
  local by_line = covered.read(folder, tests)
  local told <close> = assert(io.open(("%s/tried-%d"):format(folder, part), "a"))
  local known = #lines_of(("%s/tried-%d"):format(folder, part))
  local counted = 0
  for number, fault in ipairs(chosen()) do
    if number % parts == part then
      counted = counted + 1
      if counted > known and os.time() < deadline then
        local path = tree .. "/" .. fault.path
        local by = without(tests_of(by_line, fault), left_out)
        local before = with_line(path, fault.number, fault.text)
        local verdict = try(tree, by)
        with_line(path, fault.number, before)
        told:write(("%s\t%s:%d\t%s\t%s\n"):format(verdict, fault.path, fault.number, fault.operator, fault.text))
        told:flush()
      end
    end
  end
end

-- Why a survivor may live, as people wrote it: "path<tab>changed text<tab>why".
local function explained()
  local why = {}
  for line in io.lines "tests/mutants/explained.txt" do
    local path, text, words = line:match "^([^#\t][^\t]*)\t(.-)\t(.*)$"
    if path then
      why[path .. "\t" .. text:gsub("^%s+", "")] = words
    end
  end
  return why
end

local function report()
  local rows, names, survivors, caught, all = {}, {}, {}, 0, 0
  for number = 0, parts - 1 do
    for _, line in ipairs(lines_of(("%s/tried-%d"):format(folder, number))) do
      local verdict, place, operator, text = line:match "^(.-)\t(.-)\t(.-)\t(.*)$"
      if verdict ~= "not built" and all < WANTED then
        local row = rows[operator] or { caught = 0, all = 0 }
        if not rows[operator] then
          rows[operator] = row
          names[#names + 1] = operator
        end
        local seen = verdict:find "^caught" and 1 or 0
        row.caught, row.all, caught, all = row.caught + seen, row.all + 1, caught + seen, all + 1
        if seen == 0 then
          survivors[#survivors + 1] = { verdict = verdict, place = place, text = text:gsub("^%s+", "") }
        end
      end
    end
  end
  table.sort(names)
  print(("%d of %d caught (%.0f%%), seed %d\n\n| operator | faults | caught |\n|---|---|---|"):format(
    caught, all, 100 * caught / math.max(1, all), SEED))
  for _, name in ipairs(names) do
    print(("| %s | %d | %d |"):format(name, rows[name].all, rows[name].caught))
  end
  print "\n| survivor | becomes | why |\n|---|---|---|"
  local why = explained()
  for _, one in ipairs(survivors) do
    local path = one.place:match "^(.*):"
    local words = why[path .. "\t" .. one.text] or one.verdict
    print(("| %s | `%s` | %s |"):format(one.place, one.text:gsub("|", "\\|"), words))
  end
end

if what == "cover" then
  covered.make(folder, tests, part, parts)
elseif what == "choose" then
  choose()
elseif what == "try" then
  try_all()
elseif what == "report" then
  report()
end
