-- serve_page_spec.lua: the page of `skillrt serve` in a browser: nothing that axe finds, in light, in dark, on a phone
-- and on a large screen; nothing in its console; nothing wider than its window; and by its keyboard alone. Needs chromium,
-- and others' libraries below build/official (make test-serve).
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local SKILL <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "review", state = {}, limits = { max_retries = 0, max_errors = 1, calls = 20000 },
  inputs = { does = { type = "string", default = "" }, count = { type = "integer", default = 12 } }, actions = {
  { id = "agents", priority = 2, run = function(_, ctx)
    local items = {}
    for i = 1, ctx.input.count do items[i] = i end
    ctx.map(items, function(i)
      return ctx.await { kind = "command", label = "reviewer " .. i, argv = { ctx.input.does == "slow" and i > 3 and "sleep" or
        "echo", "60" } }
    end)
    return { found = #items } end },
  { id = "calls", priority = 1, run = function(_, ctx)
    local calls = {}
    for i = 1, ctx.input.does == "many" and 10000 or 1 do calls[i] = i end
    ctx.map(calls, function() ctx.await { kind = "sleep", seconds = 0 } end)
    return { called = true } end },
  { id = "decide", run = function(_, ctx)
    for _ = 1, ctx.input.does == "tick" and 600 or 0 do ctx.await { kind = "command", idempotent = true, argv = { "sleep", "0.3" } } end
    if ctx.input.does == "fail" then return nil, ("a long message <b>without</b> an end "):rep(20), "permanent" end
    if ctx.input.does == "ask" then
      return { got = ctx.ask { header = "Deploy", question = "Now?", detail = "two\nlines", options = {
        { id = "now", label = "Now", description = "takes 5 minutes" }, "wait" } } } end
    if ctx.input.does == "several" then return { got = ctx.ask { question = "Which?", multiple = true, options = { "a", "b" } } } end
    if ctx.input.does == "words" then return { got = ctx.ask { question = "What?", edit = "this" } } end
    return { got = true } end },
} }
]]

-- The folder of others' libraries, if a browser can be driven; nil: pending.
local function official_of()
  local official = os.getenv "SKILLRT_OFFICIAL" or "build/official"
  if official:sub(1, 1) ~= "/" then official = require("skillrt.core").files.current() .. "/" .. official end
  local there = os.execute(("command -v chromium >/dev/null 2>&1 && test -d '%s/node_modules/axe-core'"):format(official))
  return there and official
end

-- Runs that ended, by what each does.
local function make_runs(folder, ...)
  folder.file("skill.lua", SKILL)
  for _, does in ipairs { ... } do
    K.run(folder, { "skill.lua", "--work-dir", "runs/" .. does, "--set", "does=" .. does, "--quiet",
      env = ("HOME=%s XDG_STATE_HOME=%s/.state"):format(folder.path, folder.path) }) -- as the server, which resumes one
  end
end

-- What a script of tests/support says of the page.
local function looked(folder, script, official, server, words)
  os.execute(("mkdir -p '%s/shots' && env -u LD_PRELOAD PROFILE='%s/profile' SHOTS='%s' timeout -s KILL 300 node "
    .. "tests/support/%s '%s' '%s/#token=%s' %s >'%s/told' 2>'%s/err'"):format(folder.path, folder.path, os.getenv "SHOTS"
    or folder.path .. "/shots", script, official, server.url, server.token, words, folder.path, folder.path))
  return json.decode(folder.read "told"), folder.read "err"
end

describe("the page of skillrt serve", function()
  it("(F99) is clean to axe and in its console, in light and dark, from 420 px to 4k, and as wide as its window", function()
    local official = official_of()
    if not official then return pending "needs chromium and build/official (make test-serve)" end
    local folder <close> = K.folder()
    make_runs(folder, "fail", "ask", "several", "words", "many")
    local live = K.start(folder, { "skill.lua", "--work-dir", "runs/slow", "--set", "does=slow", "--quiet" })
    local server = C.start(folder, { "--listen", "127.0.0.1:0" })
    server:until_it("slow", "running")
    local told, wrong = looked(folder, "page_look.mjs", official, server, "fail ask several words slow many")
    server:close()
    live.signal "TERM"
    live.wait()
    assert.is_table(told, wrong)
    assert.is_true(told.first_paint > 0)
    assert.same({ {}, {}, {}, 28 }, { told.violations, told.console, told.wide, told.views })
    assert.same({ "failed, 1 failed of 3", "failed, 2 failed of 4", "paused, 2 failed of 4", "failed, 2 failed of 4",
      "failed, 3 failed of 5" }, told.acts)
  end)

  it("is used by its keyboard alone: nothing has the focus unseen, and nothing loses it while records come", function()
    local official = official_of()
    if not official then return pending "needs chromium and build/official (make test-serve)" end
    local folder <close> = K.folder()
    make_runs(folder, "fail", "ask")
    local live = K.start(folder, { "skill.lua", "--work-dir", "runs/tick", "--set", "does=tick", "--quiet" })
    local server = C.start(folder, { "--listen", "127.0.0.1:0" })
    server:until_it("tick", "running")
    local told, wrong = looked(folder, "page_keys.mjs", official, server, folder.path)
    server:close()
    live.signal "TERM"
    live.wait()
    assert.is_table(told, wrong)
    assert.same({}, told.problems)
    told.tried.order = table.concat(told.tried.order, ", ", 1, 6)
    assert.same({ order = "skillrt, ask, Now, wait, Find a run, failed 1", filtered = { "ask", 1 }, answered = "completed",
      retried = "failed", receipt = true, followed = { "summary", true, true, true, true }, stopped = "paused" }, told.tried)
    local verified = K.run(folder, { "verify", "--key", ".state/skillrt/receipt.key.pub", "fail.receipt", "runs/fail" })
    assert.equal(0, verified.code, verified.err)
  end)
end)
