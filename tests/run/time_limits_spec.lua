-- time_limits_spec.lua: time limits of the protocol, and failures that come again. The clock is a fake one.
local clock = require "tests.support.fake_clock"
local R = require "tests.support.runs"
local skillrt = require "skillrt"

local function sleeps(seconds)
  return { kind = "command", idempotent = true, argv = { "sleep", tostring(seconds) } }
end

describe("the soft deadline of a step", function()
  after_each(R.clean)

  local function run(seconds, perform, more)
    local dir = R.folder() .. "/run"
    local definition = { timeouts = { step = seconds }, actions = { { id = "a", run = perform } } }
    for key, value in pairs(more or {}) do
      definition[key] = value
    end
    -- The wall clock goes on when the second call is made: as long as the first one took.
    return assert(R.run(definition, { work_dir = dir })), dir
  end

  local function slow(_, ctx)
    ctx.await(sleeps(0.05))
    clock.pass(301)
    ctx.await(sleeps(0.3))
    return { v = 1 }
  end

  it("is told once, in the journal, and the step goes on (R180, F67)", function()
    local result, dir = run(0.2, slow)
    assert.same({ "completed", 1 }, { result.status, result.state.v })
    local late = R.records(dir, "late")
    assert.equal(1, #late)
    assert.same({ 1, 0.2 }, { late[1].step, late[1].seconds })
  end)

  it("is told of each step that passes it, also of one that began behind another", function()
    local dir = R.folder() .. "/run"
    local function passes(real, seconds, updates) -- it makes no call afterwards, by which time would be watched again
      return function(_, ctx)
        ctx.await(sleeps(real))
        clock.pass(seconds)
        return updates
      end
    end
    local actions = { { id = "first", run = passes(1.2, 0) }, { id = "begin", run = passes(0.05, 0.1, { go = true }) },
      { id = "behind", when = "go", run = passes(1.2, 0) }, { id = "then", run = passes(0.4, 0.15) },
      { id = "at-last", run = passes(0.8, 0.2) } }
    assert(R.run({ timeouts = { step = 0.2 }, limits = { max_parallel = 6 }, state = { go = false }, actions = actions,
      strategy = { concurrent = true, select = function(_, list) return list[1] and list[1].id end } },
      { work_dir = dir }))
    local late = R.records(dir, "late")
    local ids = {}
    for _, record in ipairs(R.records(dir, "start")) do
      ids[record.step] = record.action
    end
    assert.same({ "first", "at-last", "behind" }, { ids[late[1].step], ids[late[2].step], late[3] and ids[late[3].step] })
  end)

  it("is five minutes where nothing is said, and none where it is 0 (R178)", function()
    assert.equal(300, R.skill({ actions = { { id = "a", run = function() end } } }).timeouts.step)
    local _, dir = run(0, slow)
    assert.equal(0, #R.records(dir, "late"))
    _, dir = run(400, slow)
    assert.equal(0, #R.records(dir, "late"))
  end)

  it("does not count what a step waits for people, nor a pause", function()
    local dir = R.folder() .. "/run"
    local definition = { timeouts = { step = 100 }, actions = { { id = "a", run = function(_, ctx)
      ctx.await(sleeps(0.01))
      ctx.ask "go on?"
      ctx.await(sleeps(0.01))
    end } } }
    assert(R.run(definition, { work_dir = dir }))
    clock.pass(3600)
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "yes" }))
    assert.equal("completed", result.status)
    assert.equal(0, #R.records(dir, "late"))
  end)
end)

describe("the time limits of a skill", function()
  after_each(R.clean)

  local actions = { { id = "a", run = function() end } }

  it("that follows the protocol are 30 s, 5 min and 30 min; of others only the warning (R177, R178)", function()
    local skill = R.skill { protocol = true, actions = actions }
    assert.same({ context_load = 30, step = 300, run = 1800 }, skill.timeouts)
    assert.same({ 1800, 5 }, { skill.limits.run_timeout, skill.limits.same_failures })
    skill = R.skill { actions = actions }
    assert.same({ 300, 0 }, { skill.timeouts.step, skill.timeouts.run })
    assert.same({}, { skill.limits.run_timeout, skill.limits.same_failures })
    skill = R.skill { protocol = true, timeouts = { run = 0, step = 0 }, actions = actions }
    assert.same({ 0, 0 }, { skill.timeouts.step, skill.timeouts.run })
    assert.is_nil(skill.limits.run_timeout)
    assert.equal(7, R.skill({ timeouts = { run = 7 }, actions = actions }).limits.run_timeout)
    assert.equal(9, R.skill({ protocol = true, limits = { run_timeout = 9 }, actions = actions }).limits.run_timeout)
  end)

  it("do not count what a run waits for people, whether it stays or is closed (R179)", function()
    local definition = { timeouts = { run = 100 }, actions = { { id = "a", run = function(_, ctx)
      ctx.await(sleeps(0.01))
      local answer = ctx.ask "go on?"
      ctx.await(sleeps(0.01))
      ctx.log("on")
      ctx.ask "and on?"
      return { v = answer }
    end } } }
    local run, folder = nil, R.folder()
    local dir = folder .. "/run"
    local store = getmetatable(require("skillrt.run.store").at(dir))
    local take, passed = store.take, false
    finally(function() store.take = take end)
    function store.take(self) -- an hour passes until the answer is looked at
      if not passed and R.exists(dir .. "/inbox/a.json") then
        passed = true
        clock.pass(3600)
      end
      return take(self)
    end
    R.write(folder .. "/a.json", '{"answer":"yes","question":1}')
    os.execute(("(sleep 0.3; mkdir -p %s/inbox; mv %s/a.json %s/inbox/a.json) &"):format(dir, folder, dir))
    local watcher = { flush = function() end, observe = function(record)
      if record.q == 2 then
        run:stop()
      end
    end }
    run = assert(require("skillrt.run.runner").begin(R.skill(definition), { work_dir = dir, watcher = watcher,
      wait = true }))
    do
      local open <close> = run
      open:wait()
      assert.same({ "paused", "user_exit" }, { open:status() })
    end
    assert.is_true(passed)
    assert.equal(3600000, R.records(dir, "stop")[1].idle)
    clock.pass(3600)
    local result = assert(skillrt.resume(dir, { skill = R.skill(definition), answer = "yes" }))
    assert.same({ "completed", "yes" }, { result.status, result.state.v })
  end)

  it("hold for generated folders, and a page by hand is only warned of (R178, R179)", function()
    local folder = R.folder()
    assert(os.execute(("%s/skillrt generate tests/golden/configs/api-manual-writer.json --out %s/made > /dev/null"):format(
      os.getenv "SKILLRT_BUILD" or "build/release", folder)))
    local made = assert(skillrt.load(folder .. "/made", { agent = "true" }))
    assert.same({ true, 1800 }, { made.protocol, made.limits.run_timeout })
    local page = assert(skillrt.load("examples/plain", { agent = "true" }))
    assert.same({ 300 }, { page.timeouts.step, page.limits.run_timeout })
  end)

  it("of a config are obeyed (R177, R178)", function()
    local config = require "skillrt.document.load.config"
    local raw = assert(require("skillrt.base.json").decode(R.read "tests/golden/configs/api-manual-writer.json"))
    raw.x_skillrt.timeouts_s = { context_load = 3, step = 4, run = 5 }
    raw.x_skillrt.agents = { ["universal-executor"] = { kind = "http", url = "http://127.0.0.1" } }
    local definition = assert(config.definition(raw, { agents = { ["*"] = { kind = "http", url = "http://127.0.0.1" } } }))
    assert.same({ context_load = 3, step = 4, run = 5 }, definition.timeouts)
    assert.is_true(definition.protocol)
  end)
end)

describe("an action that fails in the same way again and again", function()
  after_each(R.clean)

  it("is not tried any more, the run pauses and says so; a resume tries again (R184)", function()
    local tries, dir = 0, R.folder() .. "/run"
    local definition = { retry = { base = 0 }, limits = { same_failures = 3, max_errors = 9, max_retries = 9 },
      actions = { { id = "a", run = function()
        tries = tries + 1
        if tries < 5 then
          return nil, "busy " .. tries, "transient"
        end
        return { v = tries }
      end } } }
    local result = assert(R.run(definition, { work_dir = dir }))
    assert.same({ "paused", "same_failure", 3 }, { result.status, result.reason, tries })
    assert.matches("a failed repeatedly in the same way: busy 3", result.message)
    assert.equal(0, result.state.current_action and 1 or 0)
    result = assert(skillrt.resume(dir, { skill = R.skill(definition) }))
    assert.same({ "completed", 5 }, { result.status, result.state.v })
  end)

  it("is not chosen again at once where something else can be (F39)", function()
    local function fails() return nil, "never" end
    local dir = R.folder() .. "/run"
    assert(R.run({ limits = { max_errors = 3 }, actions = {
      { id = "a", priority = 9, run = fails }, { id = "b", run = R.sets { v = 1 } }, { id = "c", run = fails } } },
      { work_dir = dir }))
    assert.equal("a b a c", R.order(dir))
  end)
end)
