-- choose.lua: for each file of the program the tests that are tried first when it has changed, from the lines that
-- record.c wrote down.
--
-- Run by `make nearest`: lua5.4 choose.lua FOLDER SET LINES < tests, a line each: its set, its name, what it takes of a
-- processor; in FOLDER are the lines of each test. Prints for each file a line: its path, then tests of SET, the best
-- first; writes the same for each of its lines into LINES, as path:number. The best for a file is who runs, for its
-- time, the most lines that others before it ran seldom; the quick tests have been there before those of the full set.
-- Lines that few tests run count more, and so does a test that is about this file: that runs few such lines of others.
local FOLDER <const>, SET <const>, LINES <const> = arg[1], arg[2], arg[3]

-- What a test takes to start, in seconds: so that those that take no time are not all.
local START <const> = 0.3

-- What it is worth to run a line again.
local AGAIN <const> = 0.5

-- What a line counts that all tests run.
local COMMON <const> = 0.05

-- How many tests are named for a file, and for a line.
local MOST <const>, MOST_OF_LINE <const> = 6, 20

local function lines_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a"):gmatch "[^\n]+"
end

-- The places in the sources of offsets in an object: offset -> "csrc/x.c:12".
local function places_in(object, offsets)
  local input, places, at = os.tmpname(), {}, 0
  local file = assert(io.open(input, "w"))
  for _, offset in ipairs(offsets) do
    file:write(("0x%x\n"):format(offset - 1)) -- what is known is where the call returns to
  end
  file:close()
  local pipe <close> = assert(io.popen(("addr2line -e '%s' < '%s' 2>/dev/null"):format(object, input)))
  for line in pipe:lines() do
    at = at + 1
    places[offsets[at]] = line:match "(csrc/[%w_/.]+:%d+)"
  end
  os.remove(input)
  return places
end

-- The tests with the lines of each: { set, name, seconds, lines = { file -> { line, ... } } }.
local function read_all()
  local tests, objects = {}, {}
  for line in io.lines() do
    local set, name, seconds = line:match "^(%S+) (%S+) (%S+)$"
    local test = { set = set, name = name, seconds = tonumber(seconds), lines = {}, offsets = {} }
    function test.add(path, number)
      test.lines[path] = test.lines[path] or {}
      test.lines[path][number] = true
    end
    for one in lines_of(FOLDER .. "/" .. name:gsub("/", "_") .. ".txt") do
      local source, number = one:match "^lua @%.?/?(%S+) (%d+)$"
      local object, offset = one:match "^c (%S+) (%d+)$"
      if source then
        test.add(source:gsub("^skillrt/", "lua/skillrt/"), number)
      elseif object then
        objects[object] = objects[object] or {}
        objects[object][tonumber(offset)] = true
        test.offsets[#test.offsets + 1] = { object, tonumber(offset) }
      end
    end
    tests[#tests + 1] = test
  end
  for object, set in pairs(objects) do
    local offsets = {}
    for offset in pairs(set) do
      offsets[#offsets + 1] = offset
    end
    objects[object] = places_in(object, offsets)
  end
  for _, test in ipairs(tests) do
    for _, one in ipairs(test.offsets) do
      local path, number = (objects[one[1]][one[2]] or ""):match "^(.*):(%d+)$"
      if path then
        test.add(path, number)
      end
    end
  end
  return tests
end

-- How rare each line is, by its path: 0 for one that all tests run.
local function rarities(tests)
  local rare = {}
  for _, test in ipairs(tests) do
    for path, lines in pairs(test.lines) do
      rare[path] = rare[path] or {}
      for number in pairs(lines) do
        rare[path][number] = (rare[path][number] or 0) + 1
      end
    end
  end
  for _, lines in pairs(rare) do
    for number, count in pairs(lines) do
      lines[number] = math.log(#tests / count) + COMMON
    end
  end
  return rare
end

-- What it is worth to run some lines, by how often they have been run.
local function worth(lines, rare, times)
  local sum = 0
  for number in pairs(lines) do
    sum = sum + rare[number] * AGAIN ^ (times[number] or 0)
  end
  return sum
end

local function run(lines, times)
  for number in pairs(lines) do
    times[number] = (times[number] or 0) + 1
  end
end

-- How much a test of the set that runs lines of this file is about it, for its time.
local function merits(path, tests, rare)
  local merit = {}
  for _, test in ipairs(tests) do
    if test.set == SET and test.lines[path] then
      local share = worth(test.lines[path], rare, {}) / test.weight
      merit[test] = (share / (test.seconds + START)) ^ 0.5
    end
  end
  return merit
end

-- The best tests of the set for a file.
local function best(path, tests, rare, merit)
  local list, times, chosen = {}, {}, {}
  for _, test in ipairs(tests) do
    if test.set ~= SET and test.lines[path] then -- they count once
      for number in pairs(test.lines[path]) do
        times[number] = 1
      end
    end
  end
  while #list < MOST do
    local most, first = 0, nil
    for _, test in ipairs(tests) do
      local value = merit[test] and not chosen[test] and merit[test] * worth(test.lines[path], rare, times) or 0
      if value > most then
        most, first = value, test
      end
    end
    if not first then
      break
    end
    chosen[first], list[#list + 1] = true, first.name
    run(first.lines[path], times)
  end
  return list
end

-- Writes the best tests of the set for each line of a file, and behind them "..." where there are more.
local function write_lines(file, path, merit)
  local order, of_line = {}, {}
  for test in pairs(merit) do
    order[#order + 1] = test
  end
  table.sort(order, function(a, b)
    return merit[a] > merit[b] or merit[a] == merit[b] and a.name < b.name
  end)
  for _, test in ipairs(order) do
    for number in pairs(test.lines[path]) do
      of_line[number] = of_line[number] or {}
      if #of_line[number] < MOST_OF_LINE then
        table.insert(of_line[number], test.name)
      else
        of_line[number][MOST_OF_LINE + 1] = "..."
      end
    end
  end
  for number, names in pairs(of_line) do
    file:write(("%s:%s %s\n"):format(path, number, table.concat(names, " ")))
  end
end

local tests, paths, known = read_all(), {}, {}
local rare = rarities(tests)
for _, test in ipairs(tests) do
  test.weight = 0
  for path, lines in pairs(test.lines) do
    test.weight = test.weight + worth(lines, rare[path], {})
    if not known[path] and (path:find "^lua/" or path:find "^csrc/" or path:find "^strategies/") then
      known[path], paths[#paths + 1] = true, path
    end
  end
end
table.sort(paths)
local file <close> = assert(io.open(LINES, "w"))
for _, path in ipairs(paths) do
  local merit = merits(path, tests, rare[path])
  print(path .. " " .. table.concat(best(path, tests, rare[path], merit), " "))
  write_lines(file, path, merit)
end
