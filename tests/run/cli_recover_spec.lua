-- cli_recover_spec.lua: damaged runs, seen from the command line: what each command says, the way out,
-- and the state as the journal has it.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local STEPS = [[
return require "skillrt".skill { name = "steps", state = { n = 0 }, actions = {
  { id = "more", when = "n < 4", max_runs = 9, run = function(s) return { n = s.n + 1, large = ("x"):rep(LARGE) } end } } }]]

local function finished(folder, large)
  folder.file("steps.lua", (STEPS:gsub("LARGE", tostring(large or 10))))
  local run = kit.run(folder, { "steps.lua", "--work-dir", "w" })
  assert.equal(0, run.code, run.err)
  return folder.read "w/journal/00000001.sj"
end

-- The name of the only blob.
local function blob_of(folder)
  local list <close> = io.popen(("ls %s/w/blobs"):format(folder.path))
  return list:read "l"
end

describe("the end of a journal", function()
  it("is not said to be as it was written where the last record is cut, or may be", function()
    local folder <close> = kit.folder()
    local journal = finished(folder)
    local whole = kit.run(folder, { "log", "--verify", "w" })
    assert.equal(0, whole.code)
    assert.equal("", whole.err)
    local lines = {}
    for line in journal:gmatch "[^\n]+\n" do
      lines[#lines + 1] = line
    end
    folder.file("w/journal/00000001.sj", table.concat(lines, "", 1, #lines - 1)) -- without the word that it was closed
    local bare = kit.run(folder, { "log", "--verify", "w" })
    assert.equal(0, bare.code)
    assert.truthy(bare.err:find("did not close it: a last record may be missing", 1, true), bare.err)
    for _, text in ipairs { table.concat(lines, "", 1, #lines - 2), table.concat(lines, "", 1, #lines - 1):sub(1, -6) } do
      folder.file("w/journal/00000001.sj", text)
      local cut = kit.run(folder, { "log", "--verify", "w" })
      assert.equal(7, cut.code, cut.out .. cut.err)
      assert.is_nil(cut.out:find("as they were written", 1, true))
      assert.truthy(cut.err:find("state.json: shows record 6, but the journal ends", 1, true), cut.err)
    end
  end)
end)

describe("a value kept apart that is missing or changed", function()
  it("gives exit 7 and its name from every command that needs it, and no traceback (F41)", function()
    for _, harm in ipairs { "missing", "changed" } do
      local folder <close> = kit.folder()
      finished(folder, 100000)
      local name = blob_of(folder)
      local path = folder.path .. "/w/blobs/" .. name
      if harm == "missing" then
        os.remove(path)
      else
        folder.file("w/blobs/" .. name, "something else")
      end
      for _, words in ipairs { { "status", "w" }, { "state", "w" }, { "resume", "w" }, { "retry", "w" },
        { "answer", "w", "1" }, { "log", "--verify", "w" } } do
        local run = kit.run(folder, words)
        assert.equal(7, run.code, words[1] .. ": " .. run.err)
        assert.truthy(run.err:find("w/blobs/" .. name .. ": this blob", 1, true), run.err)
        assert.is_nil(run.err:find("traceback", 1, true))
        assert.equal("", run.out)
      end
      assert.equal(0, kit.run(folder, { "log", "w" }).code) -- it needs none
    end
  end)
end)

describe("a bit that flipped in the last batch", function()
  it("is refused by all commands, and is no torn tail of which nothing is lost (F41)", function()
    local folder <close> = kit.folder()
    local journal = finished(folder)
    local whole = journal:sub(1, journal:find '[^\n]*"closed":true' - 1)
    folder.file("w/journal/00000001.sj", whole:sub(1, -20) .. "~" .. whole:sub(-18))
    for _, words in ipairs { { "status", "w" }, { "resume", "w" }, { "state", "w" } } do
      local run = kit.run(folder, words)
      assert.equal(7, run.code, run.out .. run.err)
      assert.truthy(run.err:find("damaged: it was written since the computer was started last", 1, true), run.err)
    end
  end)
end)

describe("skillrt recover", function()
  local function damaged(folder)
    local journal = finished(folder)
    local at = journal:find '"step":3,"t":"done"'
    folder.file("w/journal/00000001.sj", journal:sub(1, at - 1) .. "X" .. journal:sub(at + 1))
  end

  it("tells what is damaged and changes nothing; with --cut the run can go on, the rest is kept (F41)", function()
    local folder <close> = kit.folder()
    damaged(folder)
    local told = kit.run(folder, { "recover", "w" })
    assert.equal(7, told.code)
    assert.truthy(told.out:find("3 records before the damage can be read; the last one: "
      .. "[Iteration 2] Completed: more\n", 1, true), told.out)
    assert.truthy(told.err:find("00000001.sj: offset ", 1, true), told.err)
    assert.truthy(told.err:find("skillrt recover --cut w would truncate the journal there", 1, true), told.err)
    assert.equal(7, kit.run(folder, { "resume", "w" }).code)
    local cut = kit.run(folder, { "recover", "--cut", "w" })
    assert.equal(0, cut.code, cut.err)
    assert.truthy(cut.out:find("^%d+ bytes were truncated and saved in w/journal.cut%-%*; 3 records remain\n"), cut.out)
    assert.truthy(cut.out:find("state.json showed later steps", 1, true), cut.out)
    assert.equal(2, json.decode(kit.run(folder, { "state", "w" }).out).n) -- the third was damaged
    local resumed = kit.run(folder, { "resume", "w" })
    assert.equal(0, resumed.code, resumed.err)
    assert.equal(4, json.decode(folder.read "w/state.json").n)
    assert.equal(0, kit.run(folder, { "log", "--verify", "w" }).code)
  end)

  it("promises of finished steps only what it can know: of a run that is well, that was cut to nothing, of a short record",
    function()
      local folder <close> = kit.folder()
      local journal = finished(folder)
      local well = kit.run(folder, { "recover", "--cut", "w" })
      assert.same({ 0, "nothing is damaged, so nothing was truncated\n" }, { well.code, well.out })
      local head = journal:match "^[^\n]*\n"
      folder.file("w/journal/00000001.sj", head .. "#" .. journal:sub(#head + 2))
      assert.equal(0, kit.run(folder, { "recover", "--cut", "w" }).code)
      for _, words in ipairs { { "resume", "w" }, { "status", "w" }, { "log", "w" } } do
        local none = kit.run(folder, words)
        assert.equal(2, none.code, none.err)
        assert.truthy(none.err:find("its journal was damaged before its first record and is saved in", 1, true), none.err)
        assert.is_nil(none.err:find("no step of it started", 1, true))
      end
      folder.file("waits.lua", [[return require "skillrt".skill { name = "waits", actions = { { id = "a", run = function() end },
        { id = "b", run = function(_, ctx) ctx.ask "Which?" end } } }]])
      assert.equal(3, kit.run(folder, { "waits.lua", "--work-dir", "v" }).code)
      folder.file("v/journal/00000001.sj", (folder.read "v/journal/00000001.sj"):sub(1, -300))
      os.remove(folder.path .. "/v/state.json")
      local torn = kit.run(folder, { "resume", "v" })
      assert.truthy((torn.out .. torn.err):find("after other damage the steps reported last may be", 1, true), torn.err)
    end)

  it("says of a run that is well that nothing is damaged", function()
    local folder <close> = kit.folder()
    finished(folder)
    assert.truthy(kit.run(folder, { "recover", "w" }).out:find "^%d+ records, none is damaged\n$")
    assert.truthy(kit.run(folder, { "recover", "--cut", "w" }).out:find("nothing was truncated", 1, true))
    assert.equal(2, kit.run(folder, { "recover", "." }).code)
  end)
end)

describe("skillrt state", function()
  it("prints the state as the journal has it, whatever became of state.json", function()
    local folder <close> = kit.folder()
    finished(folder, 100000)
    local view = json.decode(folder.read "w/state.json")
    view._skillrt = nil
    folder.file("w/state.json", "{}")
    local printed = kit.run(folder, { "state", "w" })
    assert.equal(0, printed.code, printed.err)
    assert.same(view, json.decode(printed.out))
    assert.equal("{}", folder.read "w/state.json")
  end)
end)
