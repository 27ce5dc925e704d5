-- break.lua: breaks one line in a copy of the tree and runs the tests that should see it.
--
-- Run by `make mutant FILE=path LINE=n ONLY=name [TEXT='another line']`: without TEXT the line is left
-- out. Ends well when a test fails or the build does; a line that nobody misses is told with code 1.
local path, number, only, text = arg[1], math.tointeger(tonumber(arg[2])), arg[3], arg[4] or ""
local mode = os.getenv "SKILLRT_MODE" or "release"

local function quoted(word)
  return "'" .. word:gsub("'", [['\'']]) .. "'"
end

local function lines_of(name)
  local lines = {}
  for line in assert(io.lines(name)) do
    lines[#lines + 1] = line
  end
  return lines
end

-- A copy of all that git knows or that is new, and of what was built from it.
local function copy()
  local folder = os.tmpname()
  os.remove(folder)
  local sources = "git ls-files -co --exclude-standard -z | xargs -0 cp -p --parents -t " .. folder
  assert(os.execute(("mkdir -p %s/build && %s && cp -rp build/%s %s/build/"):format(folder, sources, mode, folder)))
  return folder
end

if not (path and number and only and only ~= "") then
  io.stderr:write "usage: make mutant FILE=path LINE=n ONLY=name-of-tests [TEXT='another line']\n"
  os.exit(2)
end
local lines = lines_of(path)
assert(lines[number], ("%s has %d lines"):format(path, #lines))
print(("- %s:%d: %s\n+ %s"):format(path, number, lines[number], text))
lines[number] = text

local folder = copy()
local file = assert(io.open(folder .. "/" .. path, "w"))
file:write(table.concat(lines, "\n"), "\n")
file:close()
local make = "env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j2 test"
local pipe = assert(io.popen(("cd %s && %s MODE=%s ONLY=%s 2>&1"):format(folder, make, mode, quoted(only))))
local output = pipe:read "a"
local missed = pipe:close()
os.execute("rm -rf " .. quoted(folder))
local closing
for line in output:gmatch "[^\n]+" do
  closing = line:match "^%d+ passed, %d+ failed" and line or closing
end
print(closing or output:sub(-400))
for name in output:gmatch "\n  | Failure %-> [^\n]*\n  | ([^\n]*)" do
  print("  seen by: " .. name)
end
for name in output:gmatch "not ok %- ([^\n]*)" do
  print("  seen by: " .. name)
end
print(missed and "NOBODY SAW IT" or "seen")
os.exit(not missed)
