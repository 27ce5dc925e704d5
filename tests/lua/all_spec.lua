-- all_spec.lua: how tests/all.lua counts a program whose leak check crashed: neither well nor ill.
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
  local pipe = assert(io.popen(("env -u ONLY lua5.4 tests/all.lua %s 2>&1"):format(path)))
  local output = pipe:read "a"
  local ok = pipe:close()
  local _, runs = assert(io.open(count)):read("a"):gsub("\n", "")
  os.remove(path)
  os.remove(count)
  return ok == true, output, runs
end

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
