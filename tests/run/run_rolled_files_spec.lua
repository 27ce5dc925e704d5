-- run_rolled_files_spec.lua: files that tools wrote, when a run goes back: what they were byte by byte, also forward
-- again; what others changed stays and is named; a rollback killed on its way is finished.
local F = require "tests.support.fake_ctx"
local R = require "tests.support.runs"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"
local tool = require "skillrt.tool"
local travel = require "skillrt.run.travel"

local project

-- Uses tools as a model would; each use is an action of its own and a checkpoint.
local function skill(uses)
  local actions = {}
  for i, use in ipairs(uses) do
    actions[i] = { id = "use" .. i, priority = 100 - i, checkpoint = true, run = function(_, ctx)
      local one = assert(tool.check(use[1], { roots = { write = { project } } }, "s"))
      local task = F.task(ctx, { store = require("skillrt.run.store").at(R.folder()), dir = project, project_dir = project })
      return { said = assert(one:perform(ctx, use[2], task)) }
    end }
  end
  actions[#actions + 1] = { id = "wait", run = function(_, ctx) return { went = ctx.wait "go" } end }
  return R.skill { name = "writes", actions = actions }
end

local function write(path, content)
  return { "write_file", { path = path, content = content } }
end

local function edit(path, old, new, all)
  return { "edit", { path = path, old = old, new = new, all = all } }
end

local USES

local function run(uses)
  local dir = R.folder() .. "/run"
  assert.equal("waiting_for_event", assert(skill(uses or USES):run { work_dir = dir }).reason)
  return dir
end

local function held()
  return { R.read(project .. "/a.txt") or false, R.read(project .. "/sub/new.txt") or false }
end

describe("files that tools wrote", function()
  before_each(function()
    project = R.folder()
    R.write(project .. "/a.txt", "one two\n")
    USES = { edit("a.txt", "two", "2 2"), write("sub/new.txt", "first"), edit("a.txt", "2", "zwei", true),
      write("sub/new.txt", ("large "):rep(20000)), write("a.txt", "whole\n") }
  end)
  after_each(R.clean)

  it("are as they were at any place, and forward again (R86, F42)", function()
    local large = ("large "):rep(20000)
    local wanted = { [0] = { "one two\n", false }, { "one 2 2\n", false }, { "one 2 2\n", "first" },
      { "one zwei zwei\n", "first" }, { "one zwei zwei\n", large }, { "whole\n", large } }
    local dir = run()
    for _, at in ipairs { 4, 2, 3, 1, 5, 0, 5, 2 } do
      local done = assert(travel.rollback(dir, at == 0 and "1" or "use" .. at))
      assert.same(wanted[at], held(), "place " .. at)
      assert.same({}, done.left)
    end
  end)

  it("that somebody else has changed since stay as they are, and are named with both digests", function()
    local files, dir = require "skillrt.base.files", run()
    R.write(project .. "/a.txt", "mine")
    R.write(project .. "/sub/new.txt", "\xff not kept, but found there by the next write")
    local done = assert(travel.rollback(dir, "use1"))
    assert.equal("mine", R.read(project .. "/a.txt"))
    assert.same({ { path = project .. "/a.txt", now = files.digest "mine", was = files.digest "one 2 2\n",
      why = "somebody else has changed it since" } }, { done.left[1] })
    assert.equal(2, #done.left)
    assert.same({}, done.files)
  end)

  it("are named by `skillrt rollback`: what is as it was, and what is left with its digest now and then", function()
    local files, dir = require "skillrt.base.files", run()
    R.write(project .. "/a.txt", "mine")
    local told = kit.run({ path = project }, { "rollback", dir, "--to", "use1" })
    assert.equal(0, told.code, told.err)
    assert.equal(("%s is now as it was after record %s\nas it was: %s/sub/new.txt\n"
      .. "left as it is: %s/a.txt: somebody else has changed it since; it is %s, and was %s\n"):format(dir,
      told.out:match "record (%d+)", project, project, files.digest("mine"):sub(1, 12),
      files.digest("one 2 2\n"):sub(1, 12)), told.out)
    R.write(project .. "/a.txt", "one two\n")
    dir = run()
    os.remove(project .. "/a.txt")
    told = kit.run({ path = project }, { "rollback", dir, "--to", "use1" })
    assert.has_match("a.txt: somebody else has changed it since; it is not there, and was ", told.out, 1, true)
  end)

  it("that were not kept stay, and are named: more than 1 MiB, no text, or a secret in it", function()
    local longest, longer = ("l"):rep(1 << 20), ("l"):rep((1 << 20) + 1)
    R.write(project .. "/longest.txt", longest)
    R.write(project .. "/longer.txt", longer)
    local at = run { write("longest.txt", "x"), write("longer.txt", "y") }
    local back = assert(travel.rollback(at, "1"))
    assert.same({ 1, project .. "/longer.txt" }, { #back.left, back.left[1].path })
    assert.same({ true, "y" }, { R.read(project .. "/longest.txt") == longest, R.read(project .. "/longer.txt") })

    R.write(project .. "/a.txt", "\xff\xfe binary")
    R.write(project .. "/key.txt", "AKIA" .. ("ABCDEFGH12345678"):sub(1, 16) .. "\n")
    local dir = run { write("a.txt", "x"), write("key.txt", "y") }
    local done = assert(travel.rollback(dir, "1"))
    assert.same({ "its earlier content was not recorded", "its earlier content was not recorded" }, { done.left[1].why, done.left[2].why })
    assert.same({ "x", "y" }, { R.read(project .. "/a.txt"), R.read(project .. "/key.txt") })
    local all = io.popen(("cat '%s'/journal/* '%s'/blobs/* 2>/dev/null"):format(dir, dir)):read "a"
    assert.not_matches("AKIAABCD", all)
  end)

  it("are finished by a resume where a rollback was killed behind its record, and not where it was not begun", function()
    local dir = run()
    assert(travel.rollback(dir, "use2"))
    assert.same({ "one 2 2\n", "first" }, held())
    R.write(project .. "/a.txt", "whole\n") -- as it was before the rollback wrote it
    local result = assert(skillrt.resume(dir, { skill = skill(USES) }))
    assert.equal("whole\n", R.read(project .. "/a.txt")) -- use3 to use5 have run again
    assert.equal("waiting_for_event", result.reason)
    local edited = R.records(dir, "note")
    assert.matches("a%.txt: is as it was there", edited[#edited].text)
    local copy, records = R.folder() .. "/cut", R.records(dir)
    for i, record in ipairs(records) do
      if record.t == "rollback" then
        R.cut(dir, copy, i - 2) -- before its batch
      end
    end
    assert(skillrt.resume(copy, { skill = skill(USES) }))
    assert.equal("whole\n", R.read(project .. "/a.txt"))
  end)
end)
