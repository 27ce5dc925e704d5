-- live_spec.lua: the live view of a run of 1,000 agents on a terminal of 23 rows.
local core = require "skillrt.core"
local live = require "skillrt.report.live"
local output = require "skillrt.report.output"

describe("the live view of 1,000 agents", function()
  it("folds at the height of the terminal, and writes over its rows without clearing them", function()
    local frames, write, size = {}, output.write, output.size
    finally(function() output.write, output.size = write, size end)
    function output.write(text) frames[#frames + 1] = text end
    function output.size() return 100, 30 end
    local watcher, books, at = live.new {}, { skill = "many", steps = {} }, core.wall_ms()
    watcher.observe({ t = "start", step = 1, action = "a", n = 1, at = at }, books)
    for i = 1, 1000 do
      watcher.observe({ t = "call", step = 1, c = ("1./%d.1"):format(i), kind = "command", to = "claude", label = "agent " .. i, at = at },
        books)
    end
    watcher.flush()
    function output.size() return 100, 23 end -- the terminal's size changes, so that all is drawn
    watcher.tick(true)
    local first, count = frames[#frames], #frames
    local _, rows = first:gsub("\r\n", "")
    assert.equal(21, rows, first) -- between 22 rows: the last of the terminal stays free
    assert.truthy(first:find("agents: 1000 working, 0 done, 0 failed", 1, true), first)
    assert.truthy(first:find("and %d+ more"), first)
    watcher.progress("a", "reads the file\n", 1, "1./2.1")
    watcher.tick(true)
    local later = table.concat(frames, "", count + 1)
    assert.truthy(later:find("reads the file", 1, true), later)
    assert.is_nil(later:find("\27[J", 1, true), "it clears")
    assert.is_true(#frames[#frames] < 4000, #frames[#frames])
    local begun = os.clock()
    for _ = 1, 20 do watcher.tick(true) end
    assert.is_true((os.clock() - begun) / 20 < 0.05, "a frame takes longer than half of the time between two")
    watcher.closed()
  end)
end)

describe("the live view of several steps", function()
  it("shows eight, and says how many more are under way", function()
    local frames, write, size = {}, output.write, output.size
    finally(function() output.write, output.size = write, size end)
    function output.write(text) frames[#frames + 1] = text end
    local rows = 40
    function output.size() return 100, rows end
    local watcher, books, at = live.new {}, { skill = "many", steps = {} }, core.wall_ms()
    local function shown(step)
      watcher.observe({ t = "start", step = step, action = "a" .. step, n = 1, at = at }, books)
      watcher.flush()
      rows = rows + 1 -- so that all is drawn
      watcher.tick(true)
      return frames[#frames]
    end
    for step = 1, 7 do shown(step) end
    assert.is_nil(shown(8):find " more")
    assert.matches("and 1 more", shown(9))
    watcher.closed()
  end)
end)

describe("what a task says", function()
  it("is shown by its last three lines, of which one may be unfinished", function()
    local frames, write, size = {}, output.write, output.size
    finally(function() output.write, output.size = write, size end)
    function output.write(text) frames[#frames + 1] = text end
    function output.size() return 100, 30 end
    local watcher, books, at = live.new {}, { skill = "one", steps = {} }, core.wall_ms()
    watcher.observe({ t = "start", step = 1, action = "a", n = 1, at = at }, books)
    watcher.observe({ t = "call", step = 1, c = "1", kind = "command", to = "claude", at = at }, books)
    watcher.flush()
    watcher.progress("a", "first\nsecond\nthird\nfourth\nfif", 1, "1")
    function output.size() return 100, 31 end -- so that all is drawn
    watcher.tick(true)
    local frame = frames[#frames]
    for _, line in ipairs { "third", "fourth", "fif" } do assert.truthy(frame:find(line, 1, true), frame) end
    assert.is_nil(frame:find("first", 1, true))
    assert.is_nil(frame:find("second", 1, true))
    watcher.closed()
  end)
end)

describe("what a script prints", function()
  it("is taken as Lua prints it, whatever writes it, until the capture ends", function()
    local took, restore = {}, nil
    local ok, problem = pcall(function()
      restore = output.capture(function(text) took[#took + 1] = text end)
      print(nil, true, 5, 1.5, "x")
      print()
      assert(io.write("a", 1) == io.stdout)
      assert(io.stdout:write("b", 2) == io.stdout)
    end)
    restore()
    assert.is_true(ok, problem)
    assert.same({ "nil\ttrue\t5\t1.5\tx\n", "\n", "a1", "b2" }, took)
    io.write ""
    assert.equal(4, #took)
  end)

  it("to standard error, or to a file, is taken only where that is asked for", function()
    local took, path = {}, os.tmpname()
    local function take(text) took[#took + 1] = text end
    local restore = output.capture(take, true)
    io.stderr:write "e"
    restore()
    restore = output.capture(take)
    local file <close> = assert(io.open(path, "w"))
    file:write "f"
    io.output(file)
    io.write "g"
    io.output(io.stdout)
    restore()
    file:close()
    assert.same({ "e" }, took)
    assert.equal("fg", io.lines(path)())
    os.remove(path)
  end)
end)
