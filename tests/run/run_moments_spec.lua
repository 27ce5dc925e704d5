-- run_moments_spec.lua: a run looked at as it was, taken back, forked, compared: checkpoints, rollback and what it
-- keeps, damaged states; killed behind every record of it.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local look = require "skillrt.run.look"
local moment = require "skillrt.run.travel.moment"
local skillrt = require "skillrt"
local travel = require "skillrt.run.travel"

-- Counts to three, each time a checkpoint; then writes a report, then does one thing more.
local function skill(more)
  local made = {
    name = "counts", durability = "process", state = { n = 0, list = { 1 } },
    limits = { max_iterations = 50 },
    actions = {
      { id = "count", priority = 3, when = "n < 3", max_runs = 20, checkpoint = true,
        run = function(state) return { n = state.n + 1, list = { state.n, 7 } } end },
    },
    phases = {
      { id = "report", output = "report.md", trailing = true, run = function(state, ctx)
        ctx.checkpoint "writing"
        return "counted to " .. math.tointeger(state.n), { extra = { deep = true } }
      end },
      { id = "stop", output_free = true, trailing = true, run = function() return "over" end },
    },
  }
  if more and more.actions then
    made.phases = nil
  end
  for key, value in pairs(more or {}) do
    made[key] = value
  end
  return skillrt.skill(made)
end

local function run(one)
  local dir = R.folder() .. "/run"
  return dir, assert((one or skill()):run { work_dir = dir })
end

local function points(dir)
  local list = {}
  assert(moment.points(dir, function(point, books)
    list[#list + 1] = { point = point, n = books.state.root.n, told = moment.told(point, books) }
  end))
  return list
end

describe("a run as it was", function()
  after_each(R.clean)

  it("lists its places: begun, checkpoints by name, steps that are over, stops (R172, R173)", function()
    local dir = run()
    local named, last = {}, nil
    for _, one in ipairs(points(dir)) do
      if one.point.name then
        named[#named + 1] = ("%s %d"):format(one.point.name, math.tointeger(one.n))
        last = one
      end
    end
    assert.same({ "count 1", "count 2", "count 3", "writing 3" }, named)
    assert.equal("begun", points(dir)[1].point.what)
    local told = last.told
    assert.same({ "counts", "writing", 4, 1 }, { told.skill, told.name, told.step, told.attempt })
    assert.matches("^%d+%-%d+%-%x+$", told.run_id)
    assert.matches("^%x+$", told.digest)
    assert.matches("^%d%d%d%d%-%d%d%-%d%dT.*Z$", told.timestamp)
    assert.equal(last.point.seq, told.seq)
    assert.same({}, told.context)
    local final = points(dir)
    assert.same({ path = "report.md", status = "written", by = "report" },
      { path = final[#final].told.artifacts[1].path, status = final[#final].told.artifacts[1].status,
        by = final[#final].told.artifacts[1].by })
  end)

  it("is written down as the protocol has it, with run, record, attempt, digests, and in UTC (R173, F69)", function()
    local kit, core = require "tests.support.cli_kit", require "skillrt.core"
    local folder <close> = kit.folder()
    folder.file("draws.lua", [[return require("skillrt").skill { name = "draws", retry = { base = 0.001 }, phases = {
      { id = "draw", checkpoint = "drawn", output = "draft.md", run = function(_, ctx)
        if ctx.attempt < 3 then return nil, "again", "transient" end
        ctx.context.set("template", "loaded")
        return "text"
      end } } }]])
    local result = kit.run(folder, { "draws.lua", "--work-dir", "w", "--quiet" })
    assert.equal(0, result.code, result.err)
    local told = json.decode(kit.run(folder, { "history", "w", "--checkpoints", "--json" }).out)
    local status = json.decode(kit.run(folder, { "status", "w", "--json" }).out)
    local state = assert(look.books(folder.path .. "/w", told.seq)).state.root
    assert.same({ "draws", status.run_id, 1, 3, { template = "loaded" } }, { told.skill, told.run_id, told.step,
      told.attempt, told.context })
    assert.same("done", R.records(folder.path .. "/w")[told.seq].t)
    assert.matches("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ$", told.timestamp)
    assert.equal(core.sha256(json.encode(state)), told.digest)
    for _, artifact in ipairs(told.artifacts) do
      assert.same({ "draft.md", "written", "draw" }, { artifact.path, artifact.status, artifact.by })
      assert.equal(core.sha256 "text", artifact.digest) -- of the file's own bytes
      assert.equal("text", folder.read "w/draft.md")
    end
    assert.equal(1, #told.artifacts)
  end)

  it("shows an artifact as in progress while the step that is to give it is open (R200)", function()
    local kit = require "tests.support.cli_kit"
    local folder <close> = kit.folder()
    folder.file("draws.lua", [[return require("skillrt").skill { name = "draws", phases = {
      { id = "draw", output = "draft.md", run = function(_, ctx)
        ctx.checkpoint "sketched"
        return "text"
      end } } }]])
    local result = kit.run(folder, { "draws.lua", "--work-dir", "w", "--quiet" })
    assert.equal(0, result.code, result.err)
    local told = {}
    for line in kit.run(folder, { "history", "w", "--json" }).out:gmatch "[^\n]+" do
      local one = json.decode(line)
      told[one.what] = one
    end
    assert.same({ { path = "draft.md", status = "in-progress", by = "draw" } }, told.checkpoint.artifacts)
    assert.same({ "written" }, { told.done.artifacts[1].status })
  end)

  it("names the place before each call that must not be made twice, and none before one that may", function()
    local one = skill { actions = { { id = "calls", run = function(_, ctx)
      assert(ctx.await { kind = "command", argv = { "true" } })
      assert(ctx.await { kind = "command", argv = { "true" }, idempotent = true })
      return {}
    end } } }
    local dir, found = run(one), {}
    for _, at in ipairs(points(dir)) do
      found[#found + 1] = at.point.what == "before" and at.point or nil
    end
    assert.equal(1, #found)
    assert.equal(R.records(dir, "call")[1].c, R.records(dir)[found[1].seq + 1].c)
  end)

  it("has the books of any record, however the journal was begun anew", function()
    local dir = R.folder() .. "/run"
    assert(skill():run { work_dir = dir, books_bytes = 300 })
    for _, one in ipairs(points(dir)) do
      if one.point.what ~= "before" then
        local books = assert(look.books(dir, one.point.seq))
        assert.equal(one.n, books.state.root.n)
        assert.same(json.encode(one.told), json.encode(moment.told(one.point, books)))
      end
    end
  end)

  it("refuses a place that is not there, and names those that are", function()
    local dir = run()
    local _, message, code = moment.find(dir, "cuont")
    assert.same("missing", code)
    assert.matches('did you mean "count"', message, nil, true)
    _, message = moment.find(dir, "99")
    assert.matches("has no record 99; its last one is %d+", message)
  end)

  it("takes the number of a journal's end, which is none of a record, for the record before it", function()
    local one = skill { actions = { { id = "asks", run = function(_, ctx) return { a = ctx.ask { question = "?" } } end } } }
    local dir = run(one)
    local ended = moment.find(dir, nil) + 1
    assert(skillrt.resume(dir, { skill = one, answer = "yes" }))
    assert.equal(ended - 1, moment.find(dir, tostring(ended)))
    assert.equal("paused", assert(look.books(dir, moment.find(dir, tostring(ended)))).state.root.status)
    assert.equal(ended - 1, assert(travel.rollback(dir, tostring(ended))).seq)
  end)
end)

describe("a rollback", function()
  after_each(R.clean)

  it("sets state, outputs and what is completed; counters and the journal only grow (R86, F42)", function()
    local dir = run()
    local before = R.records(dir)
    local at = points(dir)[2].point.seq -- the first step is over
    local done = assert(travel.rollback(dir, tostring(at)))
    assert.equal(at, done.seq)
    local records = R.records(dir)
    for i, record in ipairs(before) do
      assert.same(record, records[i])
    end
    local state = R.json(dir .. "/state.json")
    assert.same({ 1, { "count" }, nil }, { state.n, state.completed_actions, state.extra })
    assert.is_nil(next(state.outputs))
    assert.same({ 3, "paused" }, { state.iteration_count, state.status })
    assert.is_nil(io.open(dir .. "/report.md"))
    assert.equal("counted to 3", R.read(dir .. "/report.md.rolled-back-" .. at))
    local again = assert(skillrt.resume(dir, { skill = skill() }))
    assert.same({ "completed", 9, 5 }, { again.status, again.steps, again.state.iteration_count })
    assert.equal("counted to 3", R.read(dir .. "/report.md"))
  end)

  it("says which output cannot be put aside, and does it with the next resume (R86)", function()
    local dir = run()
    local at = points(dir)[2].point.seq
    local aside = ("%s/report.md.rolled-back-%d"):format(dir, at)
    assert(os.execute(("mkdir -p '%s/there'"):format(aside)))
    local done, message, code = travel.rollback(dir, tostring(at))
    assert.same({ nil, "system" }, { done, code })
    assert.matches("report%.md", message)
    assert.equal("counted to 3", R.read(dir .. "/report.md"))
    assert(os.execute(("rm -r '%s'"):format(aside)))
    assert.equal("completed", assert(skillrt.resume(dir, { skill = skill() })).status)
    assert.equal("counted to 3", R.read(aside))
  end)

  it("lets a run go on that was aborted; what was undone then is not undone again (R86, F42)", function()
    local refused, world = true, {}
    local function book(id)
      return { id = id, priority = 2, checkpoint = true, run = function() world[#world + 1] = id end,
        undo = function() world[#world + 1] = "no " .. id end }
    end
    local function trip()
      return skill { actions = { book "hotel", { id = "visa", run = function()
        if refused then
          return nil, { class = "fatal", message = "refused" }
        end
      end } } }
    end
    local dir, result = run(trip())
    assert.same({ "aborted", "hotel no hotel" }, { result.status, table.concat(world, " ") })
    assert(travel.rollback(dir, "hotel"))
    refused = false
    result = assert(skillrt.resume(dir, { skill = trip() }))
    assert.same({ "completed", "hotel no hotel" }, { result.status, table.concat(world, " ") })
  end)
end)

describe("a place within a step", function()
  after_each(R.clean)

  -- Pays twice, then once more; `made` says what was paid.
  local function paying(made, fails)
    return skill { phases = {}, actions = { { id = "work", when = "n < 3", run = function(_, ctx)
      for i = 1, 3 do
        assert(ctx.await { kind = "local", name = "pay " .. i, run = function()
          made[#made + 1] = i
          return i
        end })
        if i == 2 then
          ctx.checkpoint "paid"
          if fails and not made.can_pay then
            return nil, "no money"
          end
        end
      end
      return { n = 3 }
    end } } }
  end

  it("keeps the results that the step had there, in a rollback and in a fork", function()
    local made = {}
    local dir = run(paying(made))
    assert.same({ 1, 2, 3 }, made)
    local told = { "work was under way there: it continues with the results of 2 calls" }
    assert.same(told, assert(travel.fork(dir, "paid", dir .. "-2")).under_way)
    assert.same({}, assert(travel.rollback(dir, "1")).under_way)
    assert.same(told, assert(travel.rollback(dir, "paid")).under_way)
    assert.same({ "completed", 3 }, { assert(skillrt.resume(dir, { skill = paying(made) })).status, made[4] })
    assert.same({ "completed", 3 }, { assert(skillrt.resume(dir .. "-2", { skill = paying(made) })).status, made[5] })
    assert.same({ 1, 2, 3, 3, 3 }, made)
  end)

  it("names a sub-run that was under way there, and not the steps in it", function()
    local inner = R.skill { name = "inner", actions = { { id = "within", run = function(_, ctx)
      assert(ctx.await { kind = "command", argv = { "true" } })
      ctx.checkpoint "inside"
    end } } }
    local dir = run(R.skill { name = "outer", actions = { { id = "runs", run = function(_, ctx)
      return { status = ctx.run(inner, {}).status }
    end } } })
    local at
    for _, record in ipairs(R.records(dir)) do at = record.sub or at end
    assert.same({ "runs was under way there: it starts over", ("sub-run %s was under way there: it starts over"):format(at) },
      assert(travel.rollback(dir, "inside")).under_way)
  end)

  it("keeps what a failed step had got in a fork", function()
    local made = {}
    local dir = run(paying(made, true))
    assert(travel.fork(dir, nil, dir .. "-2"))
    made.can_pay = true
    assert.equal("completed", assert(skillrt.resume(dir .. "-2", { skill = paying(made, true), retry = true })).status)
    assert.same({ 1, 2, 3, can_pay = true }, made)
  end)
end)

describe("a fork", function()
  after_each(R.clean)

  it("gives a new step no number of one that had failed, which a resume takes up by its own", function()
    local function acting(fails)
      local function act(_, ctx)
        assert(ctx.await { kind = "command", argv = { "echo" } })
        assert(not fails, "not yet")
      end
      return R.skill { name = "acts", limits = { max_errors = 1, max_retries = 0 }, actions = {
        { id = "late", priority = 1, when = "open === true", run = act }, { id = "other", run = act } } }
    end
    local dir, out = R.folder() .. "/run", R.folder() .. "/fork"
    acting(true):run { work_dir = dir }
    assert(travel.fork(dir, nil, out, { open = true }))
    assert(skillrt.resume(out, { skill = acting(false), accept_changes = true }))
    local start = R.records(out, "start")[1]
    assert.same({ "late", 2 }, { start.action, start.step })
  end)

  it("is a run of its own that names where it comes from, with the state it had there and what is set", function()
    local dir, first = run()
    local out = R.folder() .. "/fork"
    local done = assert(travel.fork(dir, "count", out, { n = 1 }))
    local begun = R.records(out, "run")[1]
    assert.same({ run = first.run_id, dir = dir, seq = done.seq }, begun.from)
    assert.not_equal(first.run_id, begun.run)
    local result = assert(skillrt.resume(out, { skill = skill() }))
    assert.same({ "completed", 3 }, { result.status, result.state.n })
    assert.equal(4, result.steps) -- counters of its own
    assert.equal(begun.run, result.state.run_id)
    assert.equal("counted to 3", R.read(out .. "/report.md"))
  end)

  it("refuses a folder with a run in it, and fields that are the runtime's", function()
    local dir = run()
    local _, message = travel.fork(dir, "count", dir)
    assert.matches("holds a run already", message)
    _, message = travel.fork(dir, "count", R.folder() .. "/x", { status = "completed" })
    assert.matches("status is written by the runtime", message, nil, true)
  end)
end)

describe("a state that a check finds damaged", function()
  after_each(R.clean)

  local function spoiled()
    return skill { invariants = { "n <= 3", function(state) return state.list[2] ~= 9 end }, actions = {
      { id = "count", priority = 3, when = "n < 3", max_runs = 20, checkpoint = true,
        run = function(state) return { n = state.n + 1 } end },
      { id = "spoils", priority = 2, max_runs = 20, checkpoint = "never",
        run = function(state) return { n = state.n + 6, spoilt = true } end },
    } }
  end

  it("takes the run back to its last checkpoint that held; it is paused, and status names it (R86, F42)", function()
    local dir, result = run(spoiled())
    assert.same({ "paused", "rolled_back" }, { result.status, result.reason })
    assert.same({ 3, nil }, { result.state.n, result.state.spoilt })
    assert.matches("n <= 3", result.message, nil, true)
    local books, report = require("skillrt.run.look").books(dir)
    local status = require("skillrt.report.status")
    local lines = table.concat(status.lines(status.of(dir, books, report), books), "\n")
    assert.matches("checkpoint count, rolled back 1 time", lines)
    assert.equal(1, result.state.error_count)
  end)

  it("puts aside what the spoilt steps gave when the run goes on, and finds none of it", function()
    local dir, spoils, found = R.folder() .. "/run", true, nil
    local function one()
      return skillrt.skill { name = "gives", mode = "sequential", state = { n = 0 }, invariants = { "n <= 3" }, phases = {
        { id = "first", checkpoint = true, run = function() return "one", { n = 1 } end },
        { id = "gives", output = "given.md", run = function()
          found = io.open(dir .. "/given.md") and "found"
          return "text", { n = spoils and 9 or 2 }
        end },
      } }
    end
    local result = assert(one():run { work_dir = dir })
    assert.same({ "paused", "rolled_back" }, { result.status, result.reason })
    spoils = false
    assert.equal("completed", assert(skillrt.resume(dir, { skill = one() })).status)
    assert.is_nil(found)
    assert.equal("text", R.read(dir .. "/given.md"))
    assert.equal("text", R.read(dir .. "/given.md.rolled-back-" .. R.records(dir, "rollback")[1].to))
  end)

  it("does so max_errors times, and fails then", function()
    local dir = run(spoiled())
    local result
    for _ = 1, 3 do
      result = assert(skillrt.resume(dir, { skill = spoiled() }))
    end
    assert.same({ "failed", "error_limit" }, { result.status, result.reason })
  end)

  it("is judged by those of its invariants that read what changed, however it was changed", function()
    local invariant, judged = require "skillrt.skill.invariant", {}
    local asked, when = {}, require "skillrt.skill.when"
    local test <const> = when.test
    local _ <close> = setmetatable({}, { __close = function() when.test = test end })
    when.test = function(condition, ...)
      asked[#asked + 1] = condition.text
      return test(condition, ...)
    end
    local one = skill { invariants = { "a < 9", "b < 9", "a + c < 9" } }
    local state = require("skillrt.skill.state").new { a = 1, b = 1, c = 1 }
    local function step(set, fails)
      asked = {}
      local next = setmetatable({}, { __index = function(_, key) return set[key] or state.root[key] end })
      local broken = invariant.broken(one.invariants, state, next, set, judged)
      if not fails then
        state:patch(set)
      end
      return table.concat(broken or {}, " "), table.concat(asked, " ")
    end
    assert.same({ "", "a < 9 b < 9 a + c < 9" }, { step { b = 2 } })
    assert.same({ "", "b < 9" }, { step { d = 2 } }) -- what was to come then is there now
    assert.same({ "", "" }, { step { d = 3 } })
    assert.same({ "a + c < 9", "a + c < 9" }, { step({ c = 8 }, true) }) -- its record could not be kept
    assert.same({ "", "a + c < 9" }, { step { d = 4 } })
    state:patch { a = 10 } -- by hand
    assert.same({ "a < 9 a + c < 9", "a < 9 a + c < 9" }, { step { d = 5 } })
    assert.same({ "a < 9 a + c < 9", "" }, { step { d = 6 } }) -- still
  end)

  it("is one whose context an invariant refuses, in the step that changed it", function()
    local _, result = run(skill { invariants = "!(context.n > 1)", actions = {
      { id = "up", checkpoint = true, max_runs = 3, run = function(_, ctx)
        ctx.context.set("n", (ctx.context.get "n" or 0) + 1)
      end },
    } })
    assert.same({ "paused", "rolled_back", 1 }, { result.status, result.reason, result.state.context.n })
    assert.equal(2, result.steps)
  end)

  it("fails the run where there is no checkpoint", function()
    local _, result = run(skill { invariants = "n < 1" , actions = { { id = "up", run = function() return { n = 1 } end } } })
    assert.same({ "failed", "state_damaged" }, { result.status, result.reason })
    assert.matches("there is no checkpoint", result.message)
  end)
end)

describe("two runs, or two places of one", function()
  after_each(R.clean)

  it("are compared by their steps and their states", function()
    local differs = require "skillrt.report.differs"
    local dir = run()
    local a = assert(look.books(dir, points(dir)[2].point.seq)).state.root
    local b = assert(look.books(dir, points(dir)[3].point.seq)).state.root
    assert.same({ "~ list: [0,7] -> [1,7]", "~ n: 1 -> 2" }, differs.states(a, b))
    assert.same({}, differs.states(b, b))
    assert.equal("step 2: b done -> none", differs.steps({ "a done", "b done" }, { "a done" }))
    assert.is_nil(differs.steps({ "a" }, { "a" }))
  end)
end)
