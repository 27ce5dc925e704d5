-- cli_signal_spec.lua: SIGINT and SIGTERM, sent for real, stop the program in any state within
-- 100 ms and leave a run that goes on. The fastest of a few tries is measured, with room for the
-- starting of what measures, as other programs may hold the processor.
local kit = require "tests.support.cli_kit"

local SLACK_MS, TRIES = 300, 8

local HEAD = 'local skillrt = require "skillrt"\n'

local function action(body, more)
  return HEAD .. ('return skillrt.skill { name = "s", state = {}, actions = { { id = "a", %s run = function(state, ctx) %s end } } }')
    :format(more or "", body)
end

local function stopped_once(script, signal, code, says)
  local folder <close> = kit.folder()
  folder.file("s.lua", script)
  local run = kit.start(folder, { "s.lua", "--work-dir", "w" })
  if says then
    assert.truthy(run.says(says))
  end
  os.execute "sleep 0.1"
  run.signal(signal)
  local result = run.wait()
  assert.equal(code, result.code, (result.out or "") .. (result.err or ""))
  local status = kit.run(folder, { "status", "w" })
  return result, status
end

local function stopped(...)
  local result, status
  for _ = 1, TRIES do
    result, status = stopped_once(...)
    if result.ms < SLACK_MS then
      return result, status
    end
  end
  error(("took %.0f ms"):format(result.ms))
end

describe("a signal (R87)", function()
  it("stops an endless loop in an action, which stays resumable", function()
    local result, status = stopped(action "while true do end", "INT", 130, "Executing: a")
    assert.truthy(result.out:find("paused (user_exit)", 1, true))
    assert.truthy(status.out:find("skillrt resume w", 1, true))
  end)
  it("stops an endless loop that catches every error", function()
    stopped(action "while true do pcall(function() while true do end end) end", "TERM", 143, "Executing: a")
  end)
  it("stops a coroutine of the script's own", function()
    stopped(action "coroutine.wrap(function() while true do end end)()", "INT", 130, "Executing: a")
  end)
  it("stops an endless loop at the top of a script, before any run", function()
    local result = stopped(HEAD .. "while true do end", "INT", 130)
    assert.truthy(result.err:find("skillrt: stopped", 1, true))
  end)
  it("stops one inside a call that cannot be interrupted", function()
    local body = 'print "in" string.rep("a", 60):find(string.rep("a?", 60) .. string.rep("a", 60) .. "b")'
    local result = stopped(action(body), "TERM", 143, "in")
    assert.truthy(result.err:find("skillrt resume", 1, true))
  end)
  it("stops a hanging command together with its children", function()
    local mark = "3" .. tostring(os.time()):sub(-4) .. ".5"
    local script = HEAD .. ([[return skillrt.skill { name = "s", state = {},
      agents = { sh = skillrt.agent.command { "sh", "-c", "trap '' INT TERM; sleep %s & sleep %s; wait" } },
      actions = { { id = "a", agent = "sh", prompt = "hang there" } } }]]):format(mark, mark)
    stopped(script, "INT", 130, "Executing: a")
    -- "[3]" does not find its own shell; programs that look at others do not bear ASan's preload
    local pipe <close> = io.popen("env -u LD_PRELOAD pgrep -f 'sleep [3]" .. mark:sub(2) .. "'")
    assert.equal("", pipe:read "a")
  end)
  it("stops a wait before the next attempt", function()
    local script = HEAD .. [[return skillrt.skill { name = "s", state = {}, retry = { base = 30, jitter = false },
      actions = { { id = "a", run = function() return nil, "later", "transient" end } } }]]
    local result = stopped(script, "INT", 130, "Retry: a: attempt 1 failed (transient), again in 30 s: later")
    assert.truthy(result.out:find("paused (user_exit)", 1, true))
  end)
  it("stops a wait of ctx.await", function()
    stopped(action 'ctx.await { kind = "sleep", seconds = 60 }', "TERM", 143, "Executing: a")
  end)
  it("ends at once at the second SIGINT", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", action('ctx.await { kind = "command", argv = { "sh", "-c", "trap \'\' TERM INT; sleep 60" } }'))
    local run = kit.start(folder, { "s.lua", "--work-dir", "w" })
    assert.truthy(run.says "Executing: a")
    run.signal "INT"
    run.signal "INT"
    assert.equal(130, run.wait().code)
    assert.truthy(kit.run(folder, { "status", "w" }).out:find("status", 1, true))
  end)
end)
