-- measure.lua: what every row of `make bench` shares: paired runs, medians, counts, the table.
--
-- Times here are noise unless both sides are taken side by side, so `paired` alternates them and
-- compares medians. Called by bench/run.lua and bench/rows/*.lua; knows nothing of skillrt.

local M = {}

M.build = os.getenv "SKILLRT_BUILD" or "build/release"
M.program = M.build .. "/skillrt"
M.lua = os.getenv "LUA" or "lua5.4"

--- The text as one word of a shell command.
---@param text string
function M.quoted(text)
  return "'" .. tostring(text):gsub("'", [['\'']]) .. "'"
end

--- Runs a command; raises with its output when it fails.
---@param command string
---@return string output
function M.run(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local output = pipe:read "a"
  if not pipe:close() then
    error(("%s: failed:\n%s"):format(command, output), 2)
  end
  return output
end

--- A folder that `close` (or the end of the scope) removes. On tmpfs with `where = "memory"`.
---@param where "disk"|"memory"|nil
---@return { path: string, close: function }
function M.folder(where)
  local base = where == "memory" and "/dev/shm" or M.build
  local path = M.run(("mktemp -d %s/bench.XXXXXX"):format(base)):gsub("%s+$", "")
  local function close()
    os.execute("rm -rf " .. M.quoted(path))
  end
  return setmetatable({ path = path, close = close }, { __close = close })
end

--- The middle one; the mean of the middle two.
---@param numbers number[]
function M.median(numbers)
  local sorted = table.move(numbers, 1, #numbers, 1, {})
  table.sort(sorted)
  local n = #sorted
  return n % 2 == 1 and sorted[n // 2 + 1] or (sorted[n // 2] + sorted[n // 2 + 1]) / 2
end

--- Takes A B A B ...; each function returns its own number (nanoseconds, say).
---@param rounds integer
---@param a fun(round: integer): number
---@param b fun(round: integer): number
---@return number ratio of the medians, number a, number b
function M.paired(rounds, a, b)
  local of_a, of_b = {}, {}
  for round = 1, rounds do
    of_a[round] = a(round)
    of_b[round] = b(round)
  end
  local x, y = M.median(of_a), M.median(of_b)
  return x / y, x, y
end

--- The least of some numbers: for times, which others only ever lengthen.
---@param numbers number[]
function M.least(numbers)
  return math.min(table.unpack(numbers))
end

--- What one unit costs to one candidate, against another: each is taken with few and with many units
--- in every round, in turn, and the difference is shared out. A disk's pace changes from one second to
--- the next, so the sides of one round are compared with each other only; the middle round counts.
---@param rounds integer
---@param a { few: integer, many: integer, take: fun(units: integer): number }
---@param b { few: integer, many: integer, take: fun(units: integer): number }
---@return number ratio the median over the rounds of a's unit to b's
---@return number a the median of a's unit
---@return number b the median of b's unit
function M.slopes(rounds, a, b)
  local ratios, of_a, of_b = {}, {}, {}
  for round = 1, rounds do
    local few_a, few_b = a.take(a.few), b.take(b.few)
    of_a[round] = (a.take(a.many) - few_a) / (a.many - a.few)
    of_b[round] = (b.take(b.many) - few_b) / (b.many - b.few)
    ratios[round] = of_a[round] / of_b[round]
  end
  return M.median(ratios), M.median(of_a), M.median(of_b)
end

--- Start to end of a program: median nanoseconds, largest resident set in KiB, and median
--- nanoseconds of CPU (user and system), which other programs disturb less.
---@param runs integer
---@param command string words for the shell
function M.spawn(runs, command)
  local output = M.run(("%s/bench/spawn %d %s"):format(M.build, runs, command))
  local time, memory, cpu = output:match "(%d+) (%d+) (%d+)"
  return tonumber(time), tonumber(memory), tonumber(cpu)
end

--- What a command asks of the disk: flushes and bytes written to regular files.
---@param command string
---@return integer syncs, integer bytes
function M.disk(command)
  local to = os.tmpname()
  M.run(("env COUNT_TO=%s LD_PRELOAD=%s/bench/count.so %s"):format(to, M.build, command))
  local syncs, bytes = 0, 0
  for line in io.lines(to) do
    local s, b = line:match "syncs (%d+) bytes (%d+)"
    syncs, bytes = syncs + s, bytes + b
  end
  os.remove(to)
  return syncs, bytes
end

--- Instructions of a command, counted by callgrind: the same in every run, whatever else the machine does.
---@param command string
---@param variables string  "A=1 B=2"
---@return integer
function M.instructions(command, variables)
  local counted = "env %s valgrind --tool=callgrind --callgrind-out-file=/dev/null %s"
  return math.tointeger(tonumber(M.run(counted:format(variables, command)):match "Collected : (%d+)"))
end

--- Nanoseconds of a function, by CPU time, best of `rounds`: for pure computing in this process.
---@param rounds integer
---@param work fun()
function M.cpu(rounds, work)
  local best = math.huge
  for _ = 1, rounds do
    collectgarbage()
    local start = os.clock()
    work()
    best = math.min(best, os.clock() - start)
  end
  return best * 1e9
end

--- Nanoseconds for people: 1234567 -> "1.23 ms".
---@param ns number
function M.time(ns)
  for _, unit in ipairs { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } } do
    if ns >= unit[1] then
      return ("%.3g %s"):format(ns / unit[1], unit[2])
    end
  end
  return ("%.0f ns"):format(ns)
end

---@class bench.finding
---@field what string the row's words
---@field want string what is asked, for people
---@field got string what was measured, for people
---@field ok boolean

--- A finding from a number and its bound ("<=" or ">=").
---@param what string
---@param got number
---@param relation "<="|">="
---@param bound number
---@param detail string? how the number came about
---@param unit string? "x" unless said otherwise
---@return bench.finding
function M.finding(what, got, relation, bound, detail, unit)
  unit = unit or "x"
  local ok
  if relation == "<=" then
    ok = got <= bound
  else
    ok = got >= bound
  end
  local shown = ("%.3g %s"):format(got, unit) .. (detail and (" (%s)"):format(detail) or "")
  return { what = what, want = ("%s %g %s"):format(relation, bound, unit), got = shown, ok = ok }
end

--- A finding without a bound: worth knowing beside the others.
---@param what string
---@param got string
---@return bench.finding
function M.told(what, got)
  return { what = what, want = "-", got = got, ok = true }
end

--- Findings as a Markdown table, as docs/inside/performance.md holds it.
---@param findings bench.finding[]
---@return string
function M.table_of(findings)
  local lines = { "| what | asked | measured | |", "|---|---|---|---|" }
  for _, f in ipairs(findings) do
    lines[#lines + 1] = ("| %s | %s | %s | %s |"):format(f.what, f.want, f.got, f.ok and "ok" or "MISSED")
  end
  return table.concat(lines, "\n")
end

return M
