-- metrics_spec.lua: `skillrt metrics` in Prometheus' text format, and `--log FILE`: lines of JSON (R149, R150, F63).
local json = require "skillrt.base.json"
local kit = require "tests.support.cli_kit"

local DOOR = [[
  local skillrt = require "skillrt"
  return skillrt.skill { name = "door", mode = "machine", state = { guests = 2 }, limits = { max_retries = 0 },
    machine = { initial = "closed", states = { "closed", "open", "completed" }, edges = {
      { action = "open", from = "closed", to = "open", when = "guests > 0", max_runs = 5 },
      { action = "lock", from = "closed", to = "completed" }, { action = "close", from = "open", to = "closed" } } },
    actions = { { id = "open", run = function(s, ctx) ctx.used { tokens = 10, dollars = 0.5 } return { guests = s.guests - 1 } end },
      { id = "close", run = function(_, ctx) ctx.await { kind = "command", argv = { "sleep", "0.02" } } end }, { id = "lock" } } }]]

local PLAIN = [[
  local skillrt = require "skillrt"
  return skillrt.skill { name = "plain", state = {}, limits = { max_retries = 1, max_errors = 1 },
    retry = { base = 0.001 }, actions = { { id = "good \"\\", run = function(_, ctx) ctx.log("a \"line\"\n") end },
      { id = "bad", run = function() return nil, "no\nluck", "transient" end } } }]]

-- Name with labels to value, and what is declared of each name; every line must be one of the format's.
local function read(text)
  local values, types = {}, {}
  for line in text:gmatch "[^\n]+" do
    local name, kind = line:match "^# TYPE ([%a_:][%w_:]*) (%l+)$"
    if name then
      types[name] = kind
    elseif not line:find "^# HELP [%a_:][%w_:]* ." then
      local key, value = line:match "^([%a_:][%w_:]*%b{}) (%S+)$"
      assert(tonumber(value), line)
      assert.is_nil(values[key], "twice: " .. key)
      values[key] = tonumber(value)
    end
  end
  return values, types
end

local function runs(folder)
  folder.file("door.lua", DOOR)
  folder.file("plain.lua", (PLAIN:gsub('good \\"\\\\', "good")))
  assert.equal(0, kit.run(folder, { "door.lua", "--work-dir", "runs/a", "--quiet" }).code)
  assert.equal(0, kit.run(folder, { "door.lua", "--work-dir", "runs/b", "--quiet" }).code)
  assert.equal(1, kit.run(folder, { "plain.lua", "--work-dir", "runs/c", "--quiet", "--log", "c.log" }).code)
end

describe("skillrt metrics", function()
  it("counts transitions and errors, times each action, and says the share of runs that completed (R149, F63)", function()
    local folder <close> = kit.folder()
    runs(folder)
    local one = kit.run(folder, { "metrics", "runs/a" })
    assert.equal(0, one.code, one.err)
    local values, types = read(one.out)
    assert.same({ "counter", "histogram", "counter", "gauge" }, { types.skillrt_state_transitions_total,
      types.skillrt_action_duration_seconds, types.skillrt_error_count_total, types.skillrt_completion_rate })
    assert.same({ 5, 0, 1 }, { values['skillrt_state_transitions_total{skill="door"}'], values['skillrt_error_count_total{skill="door"}'],
      values['skillrt_completion_rate{skill="door"}'] })
    assert.equal(5, json.decode(folder.read "runs/a/state.json").metrics.state_transitions)
    local close = '{skill="door",action="close"'
    assert.same({ 2, 0, 2, 2 }, { values["skillrt_action_duration_seconds_count" .. close .. "}"],
      values["skillrt_action_duration_seconds_bucket" .. close .. ',le="0.01"}'],
      values["skillrt_action_duration_seconds_bucket" .. close .. ',le="10"}'],
      values["skillrt_action_duration_seconds_bucket" .. close .. ',le="+Inf"}'] })
    assert.truthy(values["skillrt_action_duration_seconds_sum" .. close .. "}"] >= 0.04)
    assert.same({ 20, 1, 2 }, { values['skillrt_usage_total{skill="door",of="tokens"}'],
      values['skillrt_usage_total{skill="door",of="dollars"}'], values['skillrt_calls_total{skill="door",kind="command"}'] })
  end)

  it("passes the checks of promtool, and so do the rules for alarms", function()
    if not os.execute "command -v promtool >/dev/null 2>&1" then
      return pending "promtool (Debian's package prometheus) is not installed"
    end
    local folder <close> = kit.folder()
    runs(folder)
    folder.file("all", kit.run(folder, { "metrics", "runs" }).out)
    for _, words in ipairs { "metrics <'%s/all'", "rules examples/prometheus/skillrt.rules.yml" } do
      local pipe = assert(io.popen(("promtool check %s 2>&1"):format(words:format(folder.path))))
      local said = pipe:read "a"
      assert.is_true(pipe:close(), said)
    end
  end)

  it("takes all runs of a folder, and leaves out with a word what cannot be read", function()
    local folder <close> = kit.folder()
    runs(folder)
    os.execute(("cp -r %s/runs/a %s/runs/d && printf x > %s/runs/d/journal/00000001.sj"):format(folder.path, folder.path,
      folder.path))
    local all = kit.run(folder, { "metrics", "runs" })
    local values = read(all.out)
    assert.same({ 1, 0, 1, 1 }, { values['skillrt_completion_rate{skill="door"}'],
      values['skillrt_completion_rate{skill="plain"}'], values['skillrt_error_count_total{skill="plain"}'],
      values['skillrt_retries_total{skill="plain"}'] })
    assert.equal(2, values['skillrt_runs{skill="door",status="completed"}'])
    assert.truthy(all.err:find("runs/d", 1, true), all.err)
    assert.equal(2, kit.run(folder, { "metrics", "." }).code)
  end)
end)

describe("--log FILE", function()
  it("appends a line of JSON for what happens; each transition with from, to, action and timestamp (R150)", function()
    local folder <close> = kit.folder()
    folder.file("door.lua", DOOR)
    assert.equal(0, kit.run(folder, { "door.lua", "--work-dir", "w", "--quiet", "--log", "a.log" }).code)
    local moves, first = {}, nil
    for i, line in ipairs(kit.objects(folder.read "a.log")) do
      first = first or line
      assert.truthy(line.timestamp:find "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d%d%dZ$" and line.level and line.run_id, i)
      if line.message == "State transition" then
        moves[#moves + 1] = ("%s %s %s %s"):format(line.from, line.to, line.action, line.skill)
      end
    end
    assert.equal("Run started", first.message)
    assert.same({ "closed open open door", "open closed close door", "closed open open door", "open closed close door",
      "closed completed lock door" }, moves)
  end)

  it("has a question that a run waits with in the field question, and no error", function()
    local folder <close> = kit.folder()
    folder.file("ask.lua", [[return require "skillrt".skill { name = "q", actions = { { id = "a", run = function(_, ctx)
      return { x = ctx.ask "go on?" } end } } }]])
    assert.equal(3, kit.run(folder, { "ask.lua", "--work-dir", "w", "--quiet", "--log", "a.log" }).code)
    local stopped
    for _, line in ipairs(kit.objects(folder.read "a.log")) do
      stopped = line.message == "Run stopped" and line or stopped
    end
    assert.same({ "go on?", nil }, { stopped.question, stopped.error })
  end)

  it("of a run without a machine tells the transitions of its status; failures with class and message; a resume goes on behind", function()
    local folder <close> = kit.folder()
    folder.file("two.lua", [[
      local skillrt = require "skillrt"
      local function call(_, ctx) ctx.await { kind = "command", argv = { "true" } } end
      return skillrt.skill { name = "two", state = {}, actions = { { id = "a", run = call }, { id = "b", run = call } } }]])
    assert.equal(10, kit.run(folder, { "two.lua", "--work-dir", "w", "--quiet", "--limit", "calls=1", "--log", "a.log" }).code)
    assert.equal(0, kit.run(folder, { "resume", "w", "--quiet", "--add", "calls=5", "--log", "a.log" }).code)
    local said, ids = {}, {}
    for _, line in ipairs(kit.objects(folder.read "a.log")) do
      said[#said + 1] = line.message == "State transition" and ("%s -> %s %s"):format(line.from, line.to, line.action) or nil
      ids[line.run_id] = line.skill
    end
    assert.same({ "pending -> executing a", "executing -> paused call_limit", "paused -> executing nil",
      "executing -> completed task_completed" }, said)
    assert.equal("two", select(2, next(ids)))
    folder.file("plain.lua", (PLAIN:gsub('good \\"\\\\', "good")))
    kit.run(folder, { "plain.lua", "--work-dir", "p", "--quiet", "--log", "p.log" })
    local failed
    for _, line in ipairs(kit.objects(folder.read "p.log")) do
      failed = line.message == "Step failed" and line or failed
    end
    assert.same({ "error", "bad", "no\nluck", 2 }, { failed.level, failed.action, failed.error, failed.attempt })
  end)

  it("that cannot be written is said before anything runs", function()
    local folder <close> = kit.folder()
    folder.file("door.lua", DOOR)
    local run = kit.run(folder, { "door.lua", "--work-dir", "w", "--log", "no/such/file" })
    assert.equal(2, run.code)
    assert.truthy(run.err:find("--log: no/such/file", 1, true), run.err)
    assert.is_nil(folder.read "w/run.lock")
  end)
end)
