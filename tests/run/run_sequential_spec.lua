-- run_sequential_spec.lua: phases from the first to the last, as whole runs of the library.
local R = require "tests.support.runs"
local json = require "skillrt.base.json"
local skillrt = require "skillrt"

local ids = R.ids

local function sh(script, more)
  local agent = { "sh", "-c", script, idempotent = true }
  for key, value in pairs(more or {}) do
    agent[key] = value
  end
  return skillrt.agent.command(agent)
end

local function gives(value)
  return function()
    return value
  end
end

describe("a sequential run", function()
  after_each(R.clean)

  it("runs its phases in their order and gives outputs on as inputs (R32, R34)", function()
    local dir, seen = R.folder() .. "/run", {}
    local result = assert(R.run({
      phases = {
        { id = "01-collect", output = "list.json", run = gives { "a", "b" } },
        { id = "02-count", run = function(state)
          seen.input = state.outputs["01-collect"][2]
          return { count = #state.outputs["01-collect"] }
        end },
        { id = "03-report", input = { "02-count.json" }, output = "out/report.md", run = function(state)
          return "# " .. state.outputs["02-count"].count .. " files\n"
        end },
      },
    }, { work_dir = dir }))
    assert.equal("completed", result.status)
    assert.equal("all_phases_completed", result.reason)
    assert.equal("b", seen.input)
    assert.equal("01-collect 02-count 03-report", ids(result.state.phases_completed))
    local record = R.json(dir .. "/execution-state.json")
    assert.equal("list.json", record.phases_completed[1].output)
    assert.matches("^%d%d%d%d%-%d%d%-%d%dT", record.phases_completed[1].completed_at)
    assert.equal("completed", record.status)
    assert.matches("Z$", record.completed_at)
    assert.equal(json.null, record.current_phase)
    assert.same({ "a", "b" }, R.json(dir .. "/list.json"))
  end)

  it("writes text as text and values as JSON, by the output's name (F5, R24)", function()
    local dir = R.folder() .. "/run"
    assert(R.run({
      phases = {
        { id = "a", output = "a.md", run = gives "plain *text*" },
        { id = "b", output = "b.md", run = gives { x = 1 } },
        { id = "c", output = "c.json", run = gives "text" },
      },
    }, { work_dir = dir }))
    assert.equal("plain *text*", R.read(dir .. "/a.md"))
    assert.equal('{\n  "x": 1\n}\n', R.read(dir .. "/b.md"))
    assert.equal('"text"\n', R.read(dir .. "/c.json"))
  end)

  it("writes its record before the first phase, and each phase as the current one (R27)", function()
    local dir, at_start, during = R.folder() .. "/run", nil, nil
    assert(R.run({
      phases = {
        { id = "first", run = function()
          at_start = R.json(dir .. "/execution-state.json")
          return 1
        end },
        { id = "second", run = function(state)
          during = state.current_phase
          return 2
        end },
      },
    }, { work_dir = dir }))
    assert.same({}, at_start.phases_completed)
    assert.same({}, at_start.errors)
    assert.equal(json.null, at_start.current_phase)
    assert.is_string(at_start.started_at)
    assert.is_nil(at_start.completed_at)
    assert.equal("second", during)
  end)

  it("leaves a phase out when its condition on outputs does not hold, and says so (R30, F21)", function()
    local ran = {}
    local definition = function(issues)
      return {
        phases = {
          { id = "03.5-x", run = function() return { issues = issues } end },
          { id = "04-fix", when = "outputs['03.5-x'].issues.length > 0", run = function()
            ran[#ran + 1] = "fix"
            return "fixed"
          end },
          { id = "05-end", run = function() return "end" end },
        },
      }
    end
    local result = assert(R.run(definition(json.array {})))
    assert.equal("completed", result.status)
    assert.same({}, ran)
    assert.equal("03.5-x 05-end", ids(result.state.phases_completed))
    assert.equal("04-fix", result.state.phases_skipped[1].id)
    assert.matches("condition not met", result.state.phases_skipped[1].reason)
    assert(R.run(definition { "one" }))
    assert.same({ "fix" }, ran)
  end)

  it("has failed where every phase was skipped, and says why the first was", function()
    local function skill(ran)
      return { state = { mode = "slow" }, phases = {
        { id = "one", when = "mode === 'fast'", run = function() return { one = true } end },
        { id = "two", when = ran, run = function() return { two = true } end },
      } }
    end
    local result = assert(R.run(skill "mode === 'none'"))
    assert.same({ "failed", "nothing_ran", "no phase ran; one: condition not met: mode === 'fast'" },
      { result.status, result.reason, result.message })
    result = assert(R.run(skill "mode === 'slow'"))
    assert.same({ "completed", "all_phases_completed" }, { result.status, result.reason })
  end)

  it("refuses a phase whose declared input was to come from a skipped one, and stops (F21, R33)", function()
    local dir = R.folder() .. "/run"
    local result = assert(R.run({
      phases = {
        { id = "a", output = "a.json", when = "false", run = gives(1) },
        { id = "b", input = { "a.json" }, run = gives(2) },
      },
    }, { work_dir = dir }))
    assert.equal("failed", result.status)
    assert.equal("phase_failed", result.reason)
    assert.matches("a%.json.*phase a, which was skipped", result.state.errors[1].message)
    local record = R.json(dir .. "/execution-state.json")
    assert.equal("failed", record.status)
    assert.is_string(record.failed_at)
    assert.is_nil(record.completed_at)
  end)

  it("waits for an agent with a deadline, and refuses one that would only give a handle (F24)", function()
    local result = assert(R.run {
      limits = { max_retries = 0 },
      phases = { { id = "a", output = "a.txt", timeout = 0.03, agent = sh "sleep 5" } },
    })
    assert.equal("failed", result.status)
    assert.equal("timeout", result.state.errors[1].class)
    assert.has_error(function()
      skillrt.agent.http { url = "http://x/", run_in_background = true }
    end)
  end)

  it("gives an agent no path of a skipped phase that it did not ask for (F21)", function()
    local result = assert(R.run {
      phases = {
        { id = "a", when = "false", run = gives(1) },
        { id = "b", output = "b.txt", agent = sh("grep INPUT", { stdin = "{prompt}" }) },
      },
    })
    assert.equal("completed", result.status)
    assert.matches("%[INPUT%] None", result.state.outputs.b)
  end)

  it("keeps a returned failure out of phases_completed and stops (R32, F17)", function()
    local dir, ran = R.folder() .. "/run", false
    local result = assert(R.run({
      phases = {
        { id = "a", agent = sh([[echo '{"status":"failed","error":"no luck"}']], { parse = "json" }) },
        { id = "b", run = function() ran = true return 1 end },
      },
    }, { work_dir = dir }))
    assert.equal("failed", result.status)
    assert.is_false(ran)
    local record = R.json(dir .. "/execution-state.json")
    assert.same({}, record.phases_completed)
    assert.equal("a", record.errors[1].phase)
    assert.matches("no luck", record.errors[1].message)
    assert.is_string(record.errors[1].timestamp)
    assert.equal("failed", R.json(dir .. "/state.json").status)
  end)

  it("counts a phase that was only partly done as failed, but keeps what it changed (F18)", function()
    local result = assert(R.run {
      state = { half = false },
      phases = { { id = "a", agent = sh(
        [[echo '{"status":"partial","summary":"half of it","stateUpdates":{"half":true}}']], { parse = "json" }) } },
    })
    assert.equal("failed", result.status)
    assert.is_true(result.state.half)
    assert.same({}, result.state.phases_completed)
    assert.matches("half of it", result.state.errors[1].message)
  end)

  it("goes on after an error where the skill says so, and still ends as failed (R33)", function()
    local result = assert(R.run {
      on_error = "continue",
      phases = {
        { id = "a", run = function() error "broken" end },
        { id = "b", run = gives "b" },
      },
    })
    assert.equal("failed", result.status)
    assert.equal("b", ids(result.state.phases_completed))
    assert.equal(1, #result.state.errors)
    assert.matches("run_sequential_spec.lua:%d+: broken", result.state.errors[1].message)
  end)

  it("fails a phase whose output was neither returned nor written (R23)", function()
    local result = assert(R.run { phases = { { id = "a", output = "a.md", run = function() end } } })
    assert.equal("failed", result.status)
    assert.matches("a%.md was neither returned nor written", result.state.errors[1].message)
  end)

  it("takes the output that an agent wrote itself (R23, R31)", function()
    local result = assert(R.run {
      phases = {
        { id = "a", output = "a.json",
          agent = sh([[echo '{"n":7}' > "$0"; echo '{"status":"completed"}']], { "sh", "-c",
            [[echo '{"n":7}' > "$0"; echo '{"status":"completed","summary":"ok"}']], "{output}", parse = "json" }) },
        { id = "b", when = "outputs.a.n === 7", run = gives "seen" },
      },
    })
    assert.equal("a b", ids(result.state.phases_completed))
  end)

  it("makes the folder of an output before an agent is told to write there (R23, R31)", function()
    local dir = R.folder() .. "/run"
    local script = [[echo text > "$0" && echo '{"status":"completed"}']]
    local result = assert(R.run({
      phases = { { id = "a", output = "sections/deep/a.md",
        agent = sh(script, { "sh", "-c", script, "{output}", parse = "json" }) } },
    }, { work_dir = dir }))
    assert.equal("completed", result.status)
    assert.equal("text\n", R.read(dir .. "/sections/deep/a.md"))
  end)
end)

describe("adjacent parallel phases", function()
  after_each(R.clean)

  -- Writes its own mark and waits for the other's: ends well only when both run at once.
  local function meets(own, other)
    return sh(([[touch %s; i=0; while [ ! -e %s ]; do i=$((i+1)); [ $i -gt 200 ] && exit 1; sleep 0.01; done; echo met]])
      :format(own, other))
  end

  it("run at once (F22)", function()
    local folder = R.folder()
    local result = assert(R.run {
      phases = {
        { id = "a", parallel = true, output = "a.txt", agent = meets(folder .. "/a", folder .. "/b") },
        { id = "b", parallel = true, output = "b.txt", agent = meets(folder .. "/b", folder .. "/a") },
        { id = "c", run = function(state) return state.outputs.a .. state.outputs.b end },
      },
    })
    assert.equal("completed", result.status, result.message)
    assert.equal("met\nmet\n", result.state.outputs.c)
  end)

  it("never are more than max_parallel (F22)", function()
    local folder = R.folder()
    local alone = sh(("mkdir %s/busy || exit 1; sleep 0.03; rmdir %s/busy; echo ok"):format(folder, folder))
    local result = assert(R.run {
      limits = { max_parallel = 1 },
      phases = {
        { id = "a", parallel = true, output = "a.txt", agent = alone },
        { id = "b", parallel = true, output = "b.txt", agent = alone },
        { id = "c", parallel = true, output = "c.txt", agent = alone },
      },
    })
    assert.equal("completed", result.status, result.message)
    assert.equal(3, #result.state.phases_completed)
  end)

  it("end each on its own: a failing branch neither hides nor loses the others, then the run stops (F22, R33)", function()
    local ran = false
    local dir = R.folder() .. "/run"
    local result = assert(R.run({
      phases = {
        { id = "bad", parallel = true, output = "bad.txt", agent = sh "echo why >&2; exit 3" },
        { id = "slow", parallel = true, output = "slow.txt", agent = sh "sleep 0.1; echo kept" },
        { id = "worse", parallel = true, output = "worse.txt", agent = sh "sleep 0.05; exit 4" },
        { id = "after", run = function() ran = true return 1 end },
      },
    }, { work_dir = dir }))
    assert.equal("failed", result.status)
    assert.equal("slow", ids(result.state.phases_completed))
    assert.equal(2, #result.state.errors)
    assert.equal("kept\n", R.read(dir .. "/slow.txt"))
    assert.is_false(ran)
    assert.is_nil(result.state.current_phase)
  end)

  it("keep both updates although each began from the same state (F36)", function()
    local result = assert(R.run {
      state = { box = { a = 0, b = 0 } },
      phases = {
        { id = "a", parallel = true, run = function(state, ctx)
          ctx.await { kind = "sleep", seconds = 0.02 }
          return "a", { box = { a = state.box.a + 1 } }
        end },
        { id = "b", parallel = true, run = function(state, ctx)
          ctx.await { kind = "sleep", seconds = 0.01 }
          return "b", { box = { b = state.box.b + 1 } }
        end },
      },
    })
    assert.same({ a = 1, b = 1 }, result.state.box)
  end)
end)

describe("the attempts of a phase", function()
  after_each(R.clean)

  it("are one and max_retries more, with a growing wait, counted in the journal (F19, R85)", function()
    local dir, folder = R.folder() .. "/run", R.folder()
    local result = assert(R.run({
      limits = { max_retries = 2 },
      retry = { base = 0.01, factor = 2, jitter = false },
      phases = { { id = "a", output = "a.txt",
        agent = sh(("echo x >> %s/tries; exit 75"):format(folder)) } },
    }, { work_dir = dir }))
    assert.equal("failed", result.status)
    assert.equal("x\nx\nx\n", R.read(folder .. "/tries"))
    local fails = R.records(dir, "fail")
    assert.equal(3, #fails)
    assert.same({ 1, 2, 3 }, { fails[1].attempt, fails[2].attempt, fails[3].attempt })
    assert.same({ 10, 20 }, { fails[1].retry, fails[2].retry })
    assert.is_nil(fails[3].retry)
    assert.is_true(fails[2].at - fails[1].at >= 10)
  end)

  it("are kept over an interruption: a resume does not begin to count anew (F19)", function()
    local dir, folder = R.folder() .. "/run", R.folder()
    local definition = function()
      return {
        limits = { max_retries = 2 },
        phases = { { id = "a", output = "a.txt",
          agent = sh(("echo x >> %s/tries; exit 75"):format(folder)) } },
      }
    end
    assert(R.run(definition(), { work_dir = dir }))
    for keep, kind in ipairs(R.records(dir)) do
      if kind.t == "fail" and kind.attempt == 2 then
        R.write(folder .. "/tries", "")
        R.cut(dir, folder .. "/cut", keep)
      end
    end
    local result = assert(skillrt.resume(folder .. "/cut", { skill = R.skill(definition()), accept_changes = true }))
    assert.equal("failed", result.status)
    assert.equal("x\n", R.read(folder .. "/tries"))
  end)

  it("are not repeated where another would fail the same way (F19)", function()
    local dir = R.folder() .. "/run"
    assert(R.run({ phases = { { id = "a", output = "a.txt", agent = sh "exit 1" } } }, { work_dir = dir }))
    assert.equal(1, #R.records(dir, "call"))
  end)
end)
