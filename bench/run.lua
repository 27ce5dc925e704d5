-- run.lua: `make bench`: takes every row in bench/rows/, prints one table of ratios and leaves it in
-- bench.md of the build folder, from where docs/inside/performance.md has it.
--
-- A row file returns a function(measure) -> list of findings (see measure.lua). A row that cannot
-- be taken says why and counts as failed. ONLY=name takes the rows whose file name holds it.
package.path = "./bench/?.lua;" .. package.path
local measure = require "measure"
local only = os.getenv "ONLY" or ""

local function machine()
  local cpu = measure.run("grep -m1 'model name' /proc/cpuinfo || true"):match ": ([^\n]+)" or "unknown processor"
  local kernel = measure.run("uname -sr"):gsub("%s+$", "")
  return ("%s, %s cores, %s"):format(cpu, measure.run("nproc"):gsub("%s+$", ""), kernel)
end

local findings, failed = {}, 0
for path in io.popen("ls bench/rows/*.lua"):lines() do
  if path:find(only, 1, true) then
    io.stderr:write("taking ", path, "\n")
    local ok, found = xpcall(dofile(path), debug.traceback, measure)
    if not ok then
      io.stderr:write(found, "\n")
      found = { { what = path, want = "a number", got = "could not be taken", ok = false } }
    end
    for _, finding in ipairs(found) do
      findings[#findings + 1] = finding
      failed = failed + (finding.ok and 0 or 1)
    end
  end
end
if #findings == 0 then
  io.stderr:write("bench: no row's name holds '", only, "'\n")
  failed = 1
end
local page = ("%s: %s.\n\n%s\n"):format(os.date "!%Y-%m-%d", machine(), measure.table_of(findings))
print(page)
local file <close> = assert(io.open(measure.build .. "/bench.md", "w"))
file:write(page)
print(("%d passed, %d failed"):format(math.max(0, #findings - failed), failed))
os.exit(failed == 0)
