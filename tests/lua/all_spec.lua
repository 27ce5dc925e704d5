-- all_spec.lua: how tests/all.lua runs programs, several at once, and how it counts them: one whose
-- leak check crashed neither well nor ill.
local TRACER = "Tracer caught signal 11: addr=0x480 pc=0x7f\n==1==LeakSanitizer has encountered a fatal error."

-- Runs all.lua over a program that ends with these lines and code 1 so many times, then well.
local function all_over(lines, times)
  local path = os.tmpname()
  local count <const> = path .. ".count"
  local file = assert(io.open(path, "w"))
  file:write(("#!/bin/sh\necho x >>%s\necho '1 passed, 0 failed'\n[ $(wc -l <%s) -gt %d ] && exit 0\necho '%s'\nexit 1\n")
    :format(count, count, times, lines))
  file:close()
  assert(os.execute("chmod +x " .. path))
  local pipe = assert(io.popen(("env -u ONLY -u FIRST lua5.4 tests/all.lua %s 2>&1"):format(path)))
  local output = pipe:read "a"
  local ok = pipe:close()
  local _, runs = assert(io.open(count)):read("a"):gsub("\n", "")
  os.remove(path)
  os.remove(count)
  return ok == true, output, runs
end

-- Runs all.lua over shell programs of these texts, so many at once; its output, and whether all went well.
local function all_of(texts, jobs)
  local paths = {}
  for i, text in ipairs(texts) do
    paths[i] = os.tmpname()
    local file <close> = assert(io.open(paths[i], "w"))
    file:write("#!/bin/sh\n", text, "\n")
  end
  local list = table.concat(paths, " ")
  assert(os.execute("chmod +x " .. list))
  local pipe = assert(io.popen(("env -u ONLY -u FIRST JOBS=%d TEST_SECONDS=3 lua5.4 tests/all.lua %s 2>&1"):format(jobs, list)))
  local output = pipe:read "a"
  local ok = pipe:close() == true
  os.execute("rm -f " .. list)
  return output, ok, paths
end

describe("test programs", function()
  -- each waits for what the other writes
  local function meets(mine, other)
    return ("echo >%s; n=0; while [ ! -e %s ] && [ $n -lt 40 ]; do sleep 0.05; n=$((n+1)); done\n[ -e %s ] && echo '1 passed, 0 failed'")
      :format(mine, other, other)
  end

  it("run at the same time, as many as are asked for, and no more", function()
    local a, b = os.tmpname(), os.tmpname()
    local pair = { meets(a, b), meets(b, a) }
    os.execute(("rm -f %s %s"):format(a, b))
    local output, ok = all_of(pair, 2)
    assert.is_true(ok, output)
    assert.truthy(output:find("\n2 passed, 0 failed", 1, true), output)
    os.execute(("rm -f %s %s"):format(a, b))
    output, ok = all_of(pair, 1)
    assert.is_false(ok)
    assert.truthy(output:find("\n1 passed, 1 failed", 1, true), output)
    os.execute(("rm -f %s %s"):format(a, b))
  end)

  it("are told of in the order they were named in, whichever ends first", function()
    local output, _, paths = all_of({ "sleep 0.3; echo 1 passed, 0 failed", "echo 2 passed, 0 failed", "echo 3 passed, 0 failed" }, 3)
    local at = {}
    for i, path in ipairs(paths) do
      at[i] = assert(output:find(path:match "[^/]+$", 1, true), output)
    end
    assert.is_true(at[1] < at[2] and at[2] < at[3], output)
    assert.truthy(output:find("\n6 passed, 0 failed", 1, true))
  end)

  it("fail when they die, are too slow, or end badly behind a good last line", function()
    local well = "echo 1 passed, 0 failed; "
    local output, ok = all_of({ "kill -SEGV $$", "sleep 20", well .. "exit 3", well .. "kill -ABRT $$" }, 4)
    assert.is_false(ok)
    assert.truthy(output:find("ended before its last line", 1, true), output)
    assert.truthy(output:find("stopped after 3 s", 1, true), output)
    assert.truthy(output:find("exit code 3", 1, true), output)
    assert.truthy(output:find("died by signal 6", 1, true), output)
    assert.truthy(output:find("\n2 passed, 4 failed", 1, true), output)
  end)
end)

describe("a test program", function()
  it("runs again, and says so, where the tracer of LeakSanitizer crashed at its end", function()
    local ok, output, runs = all_over(TRACER, 2)
    assert.is_true(ok, output)
    assert.equal(3, runs)
    assert.truthy(output:find("again ", 1, true))
    assert.truthy(output:find("\n1 passed, 0 failed", 1, true))
  end)

  it("has failed where that happens three times", function()
    local ok, output, runs = all_over(TRACER, 9)
    assert.is_false(ok)
    assert.equal(3, runs)
    assert.truthy(output:find("1 passed, 1 failed", 1, true))
  end)

  it("has failed at once where leaks were found", function()
    local ok, _, runs = all_over("==1==ERROR: LeakSanitizer: detected memory leaks", 1)
    assert.is_false(ok)
    assert.equal(1, runs)
  end)
end)

describe("the quick set", function()
  it("is joined by the tests of the full set that run what has changed, as far as their time allows", function()
    local folder = os.tmpname()
    local steps = ([[
      set -e; rm FOLDER; mkdir -p FOLDER/tests/run FOLDER/csrc/store; cp tests/all.lua tests/nearest.lua FOLDER/tests
      cd FOLDER; git init -q
      for name in one slow night two other; do
        echo 'describe("one", function() it("passes", function() end) end)' >tests/run/${name}_spec.lua
      done
      printf '%s\n' 'full tests/run/one_spec.lua 1.0' 'full tests/run/slow_spec.lua 99.0' \
        'full tests/run/other_spec.lua 14.5' 'full tests/run/two_spec.lua 14.0' \
        'nightly tests/run/night_spec.lua' >tests/sets.txt
      echo csrc/store/claim.c $(printf 'tests/run/%s_spec.lua ' gone slow night one two other) >tests/nearest.txt
      echo >csrc/store/claim.c; git add -A; git -c user.name=n -c user.email=n@n commit -qm one
      all() { env -u ONLY -u FIRST SET=quick "$@" lua5.4 tests/all.lua tests/run/*_spec.lua 2>&1 || true; }
      echo; echo unchanged; all; echo x >>csrc/store/claim.c; echo changed; all; echo asked; all ONLY=two
      mkdir -p build/nearest; echo csrc/store/claim.c:1 tests/run/other_spec.lua >build/nearest/full-lines.txt
      echo lines; all]]):gsub("FOLDER", folder)
    local pipe = assert(io.popen(steps .. "; rm -rf " .. folder))
    local unchanged, changed, asked, lines = pipe:read("a"):match
      "\nunchanged\n(.*)\nchanged\n(.*)\nasked\n(.*)\nlines\n(.*)"
    pipe:close()
    assert.truthy(unchanged:find("there are no tests", 1, true), unchanged)
    assert.truthy(changed:find("join   tests/run/one_spec.lua", 1, true), changed)
    assert.truthy(changed:find("join   tests/run/two_spec.lua", 1, true), changed) -- 14.5 s are not left for the one behind it
    assert.truthy(changed:find("\n2 passed, 0 failed", 1, true), changed)
    assert.truthy(asked:find("1 passed, 0 failed", 1, true), asked)
    assert.truthy(lines:find("join   tests/run/other_spec.lua", 1, true), lines) -- those of the line come first
    assert.truthy(lines:find("\n1 passed, 0 failed", 1, true), lines)
  end)
end)
