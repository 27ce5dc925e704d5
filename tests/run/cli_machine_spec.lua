-- cli_machine_spec.lua: a machine as people see it: its lines, its status, a new run in an old one's place, and an
-- agent that is a program and knows nothing of states.
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

-- Two states, an agent for the work, and a value that tells whether it is done.
local WORKER = [[
local skillrt = require "skillrt"
return skillrt.skill {
  name = "worker",
  retry = { base = 0.001, jitter = false },
  agents = { worker = skillrt.agent.command { argv = { "sh", "%s" }, stdin = "{prompt}", parse = "json" } },
  state = { tries = 0, recoverable_errors = { "invalid_output", "permanent" } },
  machine = {
    initial = "begun",
    states = { "begun", "working", "error", "completed", "failed" },
    edges = {
      { action = "work", from = "begun", to = "working" },
      { action = "complete", from = "working", to = "completed", when = "result === 'good'" },
      { action = "work", from = "working", to = "working", max_runs = 2 },
      { action = "work", from = "error", to = "working", when = "recoverable_errors.includes(error.type)", max_runs = 1 },
      { action = "abort", from = "error", to = "failed" },
      { action = "handle_error", from = "*", to = "error" },
    },
  },
  actions = {
    { id = "work", agent = "worker", prompt = "Do the work, and set result to good or bad." },
    { id = "complete" }, { id = "abort" }, { id = "handle_error" },
  },
}]]

-- Notes what it is asked, and answers with the n-th line of `answers`.
local AGENT = [[
n=$(ls asked.* 2>/dev/null | wc -l)
cat > asked.$n
sed -n "$((n + 1))p" answers
]]

local function worker(folder, answers)
  folder.file("worker.lua", WORKER:format("agent.sh"))
  folder.file("agent.sh", AGENT)
  folder.file("answers", answers)
end

describe("a machine on the command line", function()
  it("says each transition with from, to and action, live and in the log (R150)", function()
    local folder <close> = kit.folder()
    worker(folder, '{"status":"completed","stateUpdates":{"result":"good"}}\n')
    local run = kit.run(folder, { "worker.lua", "--work-dir", "w" })
    assert.equal(0, run.code, run.err)
    local lines = { "[Iteration 1] State transition: begun -> working (work)\n",
      "[Iteration 2] State transition: working -> completed (complete)\n" }
    local log = kit.run(folder, { "log", "w" }).out
    for _, line in ipairs(lines) do
      assert.has_match(line, run.out, 1, true)
      assert.has_match(line, log, 1, true)
    end
  end)

  it("runs an agent that only returns what its prompt asks for, and one that thinks it moves the state (R151, R152)",
    function()
      local folder <close> = kit.folder()
      worker(folder, '{"status":"completed","stateUpdates":{"result":"bad"}}\n'
        .. '{"status":"completed","stateUpdates":{"result":"bad","state":"completed"}}\n'
        .. '{"status":"completed","stateUpdates":{"result":"good","state":"working"}}\n')
      local run = kit.run(folder, { "worker.lua", "--work-dir", "w" })
      assert.equal(0, run.code, run.err)
      assert.has_match("Warning: work: only the runtime writes state; the update was ignored", run.out, 1, true)
      local state = json.decode(folder.read "w/state.json")
      assert.same({ "completed", 2 }, { state.state, state.metrics.edges["working > working: work"] })
      assert.has_match("set result to good or bad", folder.read "asked.0", 1, true)
      assert.has_match('"state": "begun"', folder.read "asked.0", 1, true) -- it is shown where the machine is
    end)

  it("recovers from an agent that gives nonsense, once, as its table says (R152)", function()
    local folder <close> = kit.folder()
    local nonsense = "no JSON\n"
    worker(folder, nonsense:rep(2) .. '{"status":"completed","stateUpdates":{"result":"good"}}\n')
    local run = kit.run(folder, { "worker.lua", "--work-dir", "w" })
    assert.equal(0, run.code, run.err .. run.out)
    assert.has_match("State transition: begun -> error (handle_error)", run.out, 1, true)
    assert.has_match("State transition: error -> working (work)", run.out, 1, true)
    folder.file("answers", nonsense:rep(20))
    os.execute(("rm -f '%s'/asked.*"):format(folder.path))
    run = kit.run(folder, { "worker.lua", "--work-dir", "v" })
    assert.equal(1, run.code)
    assert.has_match("failed (unrecoverable)", run.out, 1, true)
  end)

  it("shows its state in status, for people and programs", function()
    local folder <close> = kit.folder()
    worker(folder, '{"status":"completed","stateUpdates":{"result":"good"}}\n')
    kit.run(folder, { "worker.lua", "--work-dir", "w" })
    assert.has_match("\nstate      completed, after 2 transitions\n", kit.run(folder, { "status", "w" }).out, 1, true)
    local status = json.decode(kit.run(folder, { "status", "w", "--json" }).out)
    assert.same({ "completed", 2, 2 }, { status.state, status.metrics.state_transitions,
      status.metrics.actions_executed })
  end)

  it("is drawn, with the way of a run", function()
    local folder <close> = kit.folder()
    worker(folder, '{"status":"completed","stateUpdates":{"result":"good"}}\n')
    kit.run(folder, { "worker.lua", "--work-dir", "w" })
    local plain = kit.run(folder, { "graph", "worker.lua" }).out
    assert.has_match('-->|"work"|', plain, 1, true)
    assert.not_matches("taken", plain)
    local drawn = kit.run(folder, { "graph", "worker.lua", "--run", "w" })
    assert.has_match('==>|"work<br/>taken once"|', drawn.out, 1, true)
    assert.has_match("the run is here", drawn.out, 1, true)
    assert.equal(2, kit.run(folder, { "graph", "worker.lua", "--run", "nowhere" }).code)
  end)

  it("begins anew in the place of another run, which is kept (R144)", function()
    local folder <close> = kit.folder()
    worker(folder, ('{"status":"completed","stateUpdates":{"result":"good"}}\n'):rep(4))
    kit.run(folder, { "worker.lua", "--work-dir", "w" })
    local first = folder.read "w/state.json"
    local id = json.decode(first).run_id
    assert.equal(2, kit.run(folder, { "worker.lua", "--work-dir", "w" }).code)
    local again = kit.run(folder, { "worker.lua", "--work-dir", "w/", "--reset" })
    assert.equal(0, again.code, again.err)
    assert.equal(first, folder.read(("w.%s/state.json"):format(id)))
    local second = json.decode(folder.read "w/state.json")
    assert.not_equal(id, second.run_id)
    assert.equal(2, second.metrics.state_transitions)
    assert.equal(0, kit.run(folder, { "status", "w." .. id }).code)
    assert.has_match("needs --work-dir DIR", kit.run(folder, { "worker.lua", "--reset" }).err, 1, true)
    assert.equal(0, kit.run(folder, { "worker.lua", "--work-dir", "new", "--reset" }).code)
    assert(os.execute(("mkdir -p '%s/begun/journal'"):format(folder.path))) -- its process died before the first record
    assert.equal(0, kit.run(folder, { "worker.lua", "--work-dir", "begun", "--reset" }).code)
    local journal = folder.read "new/journal/00000001.sj"
    folder.file("new/journal/00000001.sj", (journal:gsub('{"at"', '{"AT"', 1)))
    kit.run(folder, { "recover", "new", "--cut" })
    assert.has_match("check what its steps did", kit.run(folder, { "worker.lua", "--work-dir", "new", "--reset" }).err, 1, true)
  end)

  it("is not begun anew while a process advances the run", function()
    local folder <close> = kit.folder()
    folder.file("slow.lua", [[
      return require "skillrt".skill { name = "slow", actions = { { id = "a", run = function(_, ctx)
        ctx.await { kind = "command", argv = { "sleep", "20" }, idempotent = true }
      end } } }]])
    local started = kit.start(folder, { "slow.lua", "--work-dir", "w" })
    for _ = 1, 200 do
      if (json.decode(kit.run(folder, { "status", "w", "--json" }).out) or {}).held_by then
        break
      end
      os.execute "sleep 0.05"
    end
    local refused = kit.run(folder, { "slow.lua", "--work-dir", "w", "--reset" })
    started.signal "TERM"
    started.wait()
    assert.equal(6, refused.code, refused.err)
    assert.has_match("advances this run", refused.err, 1, true)
  end)
end)
