-- covered.lua: which test runs which line: each test once, alone, in a tree built with MODE=cover; C by gcov, Lua by
-- trace.c. What it finds lies in one text file a test, so that it is made once and read often.
--
-- Used by run.lua, which gives the folder and the tests.
local core = require "skillrt.core"

local M = {}

local function quoted(text)
  return "'" .. text:gsub("'", [['\'']]) .. "'"
end

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read "a"
end

-- The lines of C that one test ran: gcov finds its notes beside the counters, where the links put them.
local function lines_of_c(folder, lines)
  local links = [[cd %s && find . -name '*.gcda' '(' -path '*/csrc/*' -o -path '*/tests/c/*' ')' | while read -r f; do
    n=${f%%.gcda}.gcno; [ -e "$n" ] || ln -s "${n#.}" "$n"; echo "%s/$f"; done]]
  local counters = output_of(links:format(quoted(folder), folder)):gsub("\n", " ")
  if counters == "" then
    return
  end
  for document in output_of("gcov --json-format --stdout " .. counters .. " 2>/dev/null"):gmatch "[^\n]+" do
    for _, file in ipairs(core.json.decode(document).files) do
      for _, line in ipairs(file.file:find "^csrc/" and file.lines or {}) do
        if line.count > 0 then
          lines[file.file .. ":" .. line.line_number] = true
        end
      end
    end
  end
end

local function lines_of_lua(path, lines)
  local file <close> = io.open(path)
  for line in file and file:lines() or function() end do
    lines["lua/" .. line] = true
  end
end

-- Runs one test and writes what it covers: "seconds ok", then a line of a file a line.
local function cover(test, path, scratch)
  os.execute(("rm -rf %s && mkdir -p %s"):format(quoted(scratch), quoted(scratch)))
  local trace = scratch .. "/../trace.so"
  local env = "env -u LUA_PATH -u LUA_CPATH TRACE_LINES=%s/lua GCOV_PREFIX=%s JOBS=1 SKILLRT_MODE=cover"
  env = (env .. " SKILLRT_BUILD=build/cover"):format(scratch, scratch)
  local spec = ("SPEC_ENV='LD_PRELOAD=%s' LUA=%s/../trace-lua"):format(trace, scratch)
  local outer = test:find "%.lua$" and spec or ("LD_PRELOAD=%s"):format(trace)
  local ok = os.execute(("%s %s lua5.4 tests/all.lua %s > %s/log 2>&1"):format(env, outer, test, scratch))
  local seconds = tonumber(output_of("cat " .. scratch .. "/log"):match "failed%s+(%d+) s") or 600
  local lines = {}
  lines_of_c(scratch, lines)
  lines_of_lua(scratch .. "/lua", lines)
  local names = {}
  for name in pairs(lines) do
    names[#names + 1] = name
  end
  table.sort(names)
  local file <close> = assert(io.open(path, "w"))
  file:write(("%d %s\n%s\n"):format(seconds, ok and "ok" or "failed", table.concat(names, "\n")))
end

local function name_of(test)
  return (test:gsub("[^%w]", "_"))
end

---Covers the tests that `folder` does not know of.
---@param folder string   absolute
---@param tests string[]  paths, as tests/all.lua takes them
---@param part integer     this process takes each test whose number leaves `part` when divided by `parts`
---@param parts integer
function M.make(folder, tests, part, parts)
  folder = ("%s/%d"):format(folder, part)
  os.execute(("mkdir -p %s && mkdir -p %s/../covered"):format(folder, folder))
  local compile = "gcc $(pkg-config --cflags lua5.4) -O2 tests/mutants/trace.c -ldl -o %s/"
  assert(os.execute((compile .. "trace.so -shared -fPIC"):format(folder)))
  assert(os.execute((compile .. "trace-lua -DTRACE_MAIN -Wl,-E $(pkg-config --libs lua5.4)"):format(folder)))
  for number, test in ipairs(tests) do
    local path = ("%s/../covered/%s"):format(folder, name_of(test))
    local known <close> = io.open(path)
    if not known and number % parts == part then
      io.stderr:write(("\rcovering %d of %d %-60s"):format(number, #tests, test))
      cover(test, path, folder .. "/scratch")
    end
  end
  io.stderr:write "\n"
end

---@class skillrt.Covered
---@field test string
---@field seconds integer

---The tests that run each line, the quick ones first.
---@param folder string
---@param tests string[]
---@return table<string, skillrt.Covered[]> by_line  "lua/skillrt/run/ends.lua:12"
function M.read(folder, tests)
  local by_line = {}
  for _, test in ipairs(tests) do
    local seconds, lines
    for line in io.lines(("%s/covered/%s"):format(folder, name_of(test))) do
      if not seconds then
        seconds = tonumber(line:match "^%d+")
        lines = { test = test, seconds = seconds }
      else
        by_line[line] = by_line[line] or {}
        table.insert(by_line[line], lines)
      end
    end
  end
  for _, covered in pairs(by_line) do
    table.sort(covered, function(a, b)
      return a.seconds < b.seconds or a.seconds == b.seconds and a.test < b.test
    end)
  end
  return by_line
end

return M
