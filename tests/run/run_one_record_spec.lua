-- run_one_record_spec.lua: the first record of a step carries its start, so that a function that awaits nothing has one
-- record; all readers are told of both.
local R = require "tests.support.runs"
local kit = require "tests.support.cli_kit"
local skillrt = require "skillrt"
local story_of = require "skillrt.run.story"

-- One action, run as often as `most` says; `run` is given which time it is.
local function counting(most, run, more)
  local definition = { name = "counts", mode = "autonomous", state = { n = 0 }, actions = {
    { id = "count", when = ("n < %d"):format(most), max_runs = most, run = run or function(s)
      return { n = s.n + 1 }
    end } } }
  for key, value in pairs(more or {}) do
    definition[key] = value
  end
  return definition
end

-- The kinds of the records of a run as they are written, in one text.
local function kinds(dir)
  local out = {}
  for i, record in ipairs(R.records(dir)) do
    out[i] = record.t
  end
  return table.concat(out, " ")
end

local function run(definition)
  local dir = R.folder() .. "/run"
  return dir, assert(R.run(definition, { work_dir = dir }))
end

describe("a step", function()
  it("has one record where it awaits nothing", function()
    local dir, result = run(counting(4))
    assert.equal("completed", result.status)
    assert.equal("run done done done done stop", kinds(dir))
    assert.same({ 4, 4 }, { result.state.n, result.state.iteration_count })
  end)

  it("is told by all readers as one with two is", function()
    local dir = run(counting(3))
    assert.equal("count count count", R.order(dir))
    local story = assert(story_of.read(dir))
    for number = 1, 3 do
      local step = story.by_number[number]
      assert.same({ "count", number, "completed", { n = number } }, { step.id, step.n, step.status, step.set })
      assert.is_true(step.at <= step.ended)
    end
    local before = {}
    assert(require("skillrt.run.runner").read(dir, nil, function(record, books)
      before[#before + 1] = record.t == "start" and books.state.root.n or nil
    end))
    assert.same({ 0, 1, 2 }, before) -- what explains a choice sees the state that it was made in
    before = {}
    assert(require("skillrt.run.travel.moment").points(dir, function(point, books)
      before[#before + 1] = point.what == "done" and ("%s %d"):format(point.id, books.state.root.n) or nil
    end))
    assert.same({ "count 1", "count 2", "count 3" }, before)
  end)

  it("begins with the first that it records: a line, a call, a failure", function()
    local dir = run(counting(3, function(s, ctx)
      if s.n == 1 then ctx.log "one" end
      return { n = s.n + 1 }
    end))
    assert.equal("run done note done done stop", kinds(dir))
    dir = run(counting(3, function(s, ctx)
      if s.n == 1 then ctx.sleep(0.001) end
      return { n = s.n + 1 }
    end))
    assert.equal("run done call result done done stop", kinds(dir))
    local failed
    dir = run(counting(3, function(s)
      if s.n == 1 and not failed then
        failed = true
        return nil, "no"
      end
      return { n = s.n + 1 }
    end, { retry = { base = 0.001 } }))
    assert.matches("^run done fail ", kinds(dir))
    dir = run(counting(3, function(s)
      return { n = s.n + 1, bad = s.n == 1 and "\xff" or nil } -- what cannot be kept
    end))
    assert.matches("^run done fail ", kinds(dir))
  end)

  it("is open in the journal where the run stopped before its function began", function()
    local dir, over = R.folder() .. "/run", 0
    local definition = counting(4, function(s)
      os.execute "sleep 0.02" -- longer than a turn of the engine: then it hears that it is to stop
      return { n = s.n + 1 }
    end)
    R.stopped(definition, dir, function(record)
      over = over + (record.t == "done" and 1 or 0)
      return over == 2
    end)
    assert.equal("run done done start stop", kinds(dir))
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition) }))
    assert.same({ "completed", 4, 4 }, { result.status, result.state.n, result.state.iteration_count })
    assert.equal(4, #R.records(dir, "done"))
  end)

  it("has a start of its own where another begins before it is over", function()
    local function one(id)
      return { id = id, max_runs = 2, run = function(s)
        return { [id] = s[id] + 1 }
      end }
    end
    local dir, result = run { name = "two", mode = "autonomous", state = { a = 0, b = 0 }, actions = { one "a", one "b" },
      strategy = { name = "both", select = function() return { "a", "b" } end }, limits = { max_parallel = 2 } }
    assert.same({ "completed", 2, 2 }, { result.status, result.state.a, result.state.b })
    assert.equal("run start start done done start start done done stop", kinds(dir))
    assert.equal("a b a b", R.order(dir))
  end)

  it("is told of in the order of the journal", function()
    local heard, dir = {}, R.folder() .. "/run"
    local watcher = { observe = function(record, books)
      heard[#heard + 1] = record.t .. (record.t == "start" and books.open or "")
    end, flush = function() end }
    assert(R.run(counting(2), { work_dir = dir, watcher = watcher }))
    assert.equal("run start1 done start1 done stop", table.concat(heard, " "))
  end)

  it("is given back what it drew, where the run is replayed", function()
    local folder <close> = kit.folder()
    folder.file("draws.lua", [[return require "skillrt".skill { name = "draws", state = { n = 0, sum = 0 }, actions = {
      { id = "draw", when = "n < 4", max_runs = 4, run = function(s)
        return { n = s.n + 1, sum = s.sum + math.random(1000000) }
      end } } }]])
    assert.equal(0, kit.run(folder, { "draws.lua", "--work-dir", "run", "--quiet" }).code)
    assert.equal("run done done done done stop", kinds(folder.path .. "/run"))
    local replayed = kit.run(folder, { "replay", "run" })
    assert.equal(0, replayed.code, replayed.out .. replayed.err)
  end)
end)
