-- quick.lua: stories of runs that take a second or two together; see transcripts.lua.
-- luacheck: no max line length
return {
  { "a run that completes", [[
run hello.lua --work-dir r
status r
explain r
history r
log r
log r --verify
state r
list .
show r@4
check hello.lua
graph hello.lua --format text
graph r --format text
metrics r
replay r
fork r@5 --out f
diff r f
history f
log f
resume f
rollback r --to 4
diff r f
resume r --dry
resume r
prune . --all
]] },
  { "failures, retries and what is skipped", [[
run s.lua --work-dir r
status r
explain r
history r
log r
resume r --quiet
retry r --step later --quiet
explain r --at 2
state r
check s.lua
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "faulty", state = { n = 0 }, retry = { base = 0.001 }, limits = { max_errors = 5 },
  actions = {
    { id = "flaky", priority = 3, max_runs = 1, max_retries = 2, run = function(state, ctx)
        if ctx.attempt < 3 then return nil, "not yet", "transient" end
        return { n = state.n + 1 }
      end },
    { id = "hopeless", priority = 2, max_runs = 1, on_error = "skip", run = function()
        return nil, "it cannot be done", "permanent"
      end },
    { id = "later", priority = 1, max_runs = 1, on_error = "continue", run = function()
        return nil, "nor that", "timeout"
      end },
    { id = "raises", max_runs = 1, on_error = "fail", run = function(state) return { n = state.missing.field } end },
  } }
]] },
  { "a person is asked", [[
run s.lua --work-dir r
status r
answer r green
answer r 2 blue
answer r blue
answer r Ada
answer r Ada
log r
explain r
history r
list . --status completed
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "asks", state = { colour = "" }, actions = {
  { id = "ask", when = "!colour", run = function(_, ctx)
      local colour = ctx.ask { question = "Which colour?", header = "Colours", detail = "It is painted once.",
        options = { { id = "red", label = "Red", description = "warm" }, { id = "blue", label = "Blue" } } }
      local name = ctx.ask { question = "A name for it?" }
      ctx.log(("%s is %s"):format(name, colour))
      return { colour = colour, name = name }
    end } } }
]] },
  { "phases with conditions, inputs and outputs", [[
run s.lua --work-dir r
status r
explain r
skip r tell
history r
check s.lua
graph s.lua --format text
graph s.lua --format mermaid
run s.lua --work-dir r2 --set deep:=true --quiet
diff r r2
run s.lua --set deep=maybe
run s.lua --set depe:=true --work-dir r3
]], [[
local skillrt = require "skillrt"
local function write(name, text) return function(_, ctx) assert(ctx.write(name, text)) end end
return skillrt.skill { name = "phased",
  inputs = { deep = { type = "boolean", about = "looks twice", default = false } },
  phases = {
    { id = "gather", output = "facts.md", run = write("facts.md", "# Facts\n") },
    { id = "look", when = "input.deep", input = { "facts.md" }, output = "deep.md",
      run = write("deep.md", "# Deep\n") },
    { id = "tell", input = { "facts.md" }, output = "report.md", run = function(_, ctx)
        return nil, ctx.input.deep and "too deep" or "too flat", "permanent"
      end },
  } }
]] },
  { "rounds, branches and what is done once", [[
run s.lua --work-dir r
status r
log r
explain r
history r
state r
rollback r --to 1
status r
resume r --quiet
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "branches", state = { sum = 0 }, limits = { max_iterations = 5 }, actions = {
  { id = "work", max_runs = 1, run = function(_, ctx)
      local sum = 0
      local function say(n) return ctx.await { kind = "command", argv = { "echo", tostring(n) } } end
      for _, n in ipairs(ctx.map({ 1, 2, 3 }, say, { max_parallel = 1 })) do
        sum = sum + tonumber(n.stdout)
      end
      local once = ctx.once("twice", function() return sum * 2 end)
      local rounds = ctx.loop(1, function(n) return 2 * n, n > 2 end)
      local bad, why, class = ctx.await { kind = "command", argv = { "sh", "-c", "echo no >&2; exit 3" } }
      return { sum = once, rounds = rounds, why = why, class = class, bad = bad ~= nil }
    end, undo = function(_, ctx) ctx.log "undone" end } } }
]] },
  { "a machine", [[
run machine.lua --work-dir r --set target=notes
status r
explain r
history r
graph r --format text
graph machine.lua --run r --format text
check machine.lua
state r
simulate machine.lua
]] },
  { "limits", [[
run s.lua --work-dir r
status r
resume r
resume r --add max_iterations=1
resume r --add max_iterations=5
log r
explain r
run s.lua --limit max_iterations=2 --work-dir r2 --quiet
run s.lua --limit calls=x
simulate s.lua
check s.lua
graph s.lua --format text
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "long", state = { n = 0 }, limits = { max_iterations = 3 }, terminate = { "n > 4" },
  actions = { { id = "count", max_runs = 9, run = function(state) return { n = state.n + 1 } end } } }
]] },
  { "a plan", [[
plan s.lua
run s.lua --work-dir r
plan r
explain r
check s.lua
graph s.lua --format text
simulate s.lua
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "planned", strategy = "plan", goal = "built && tested",
  state = { built = false, tested = false, read = false },
  actions = {
    { id = "read", effects = { "read=true" }, run = function() return { read = true } end },
    { id = "build", when = "read && !built", effects = { "built=true" }, cost = 3,
      run = function() return { built = true } end },
    { id = "test", when = "built && !tested", effects = { "tested=true" },
      run = function() return { tested = true } end },
    { id = "buy", when = "!built", effects = { "built=true", "read=true" }, cost = 9,
      run = function() return { built = true } end },
  } }
]] },
  { "another run within one", [[
run s.lua --work-dir r
status r
log r
explain r
history r
state r
graph r --format text
]], [[
local skillrt = require "skillrt"
local inner = skillrt.skill { name = "inner", state = { n = 0 }, actions = {
  { id = "square", max_runs = 1, run = function(state) return { n = state.input.n * state.input.n } end } } }
return skillrt.skill { name = "outer", state = { n = 0 }, actions = {
  { id = "call", max_runs = 1, run = function(_, ctx) return { n = assert(ctx.run(inner, { n = 7 })).state.n } end },
  { id = "fail", max_runs = 1, on_error = "skip", run = function(_, ctx)
      local result, message, class = ctx.run("nowhere.lua", {})
      return { said = message, class = class, result = result ~= nil }
    end } } }
]] },
  { "what programs read", [[
run hello.lua --work-dir r --json
status r --json
explain r --json
history r --json
log r --json
list . --json
du . --json
plan s.lua --json
simulate s.lua --json
check s.lua --json
check s.lua --format sarif
check s.lua --report
check s.lua --report --json
check worse.lua gone.lua --json
tokens plain --json
replay r --json
graph s.lua --format svg
run s.lua --work-dir r2 --json
status r2 --json
explain r2 --json
history r2 --json
metrics r2
du .
answer r2 yes --json
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "loose", version = "2.1.0", description = "Has what a check finds.",
  goal = "done", state = { n = 0, done = false },
  actions = {
    { id = "first", effects = { "n=1" }, max_runs = 1, run = function() return { n = 1 } end },
    { id = "never", when = "n === 7 && nothing", effects = { "done" }, run = function() end },
    { id = "asks", when = "n === 1", effects = { "done" }, run = function(_, ctx)
        return { done = ctx.ask { question = "Is it done?", options = { "yes", "no" } } == "yes" }
      end },
  } }
]], { ["worse.lua"] = [[return require "skillrt".skill { name = "worse", actions = { { id = "a", when = "n = 1" } } }]] } },
  { "events, times and an end before the end", [[
run s.lua --work-dir r
status r
send r go [1,{"a":null}] --id one
send r go 7 --id one
send r stop
resume r
status r
log r
abort r
log r
explain r
history r
abort r
send r go
run s.lua --work-dir r2 --quiet
stop r2
tell r2 book hello
skip r2 book
again r2 book
list . --waiting
prune . --older-than 1d
prune . --status paused
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "waits", state = {}, actions = {
  { id = "book", priority = 3, max_runs = 1, undo = function(_, ctx) ctx.log "the booking is canceled" end,
    run = function() return { booked = true } end },
  { id = "pay", priority = 2, max_runs = 1, undo = function() return nil, "no money comes back", "permanent" end,
    run = function(_, ctx) return { paid = ctx.wait "go" } end },
  { id = "sleep", max_runs = 1, run = function(_, ctx)
      local value, why, class = ctx.wait("never", { timeout = 0.01 })
      ctx.sleep(0.01)
      return { value = value, why = why, class = class, slept = ctx.wait "stop" and ctx.wait "again" }
    end } } }
]] },
  { "stages of a step", [[
run s.lua --work-dir r
status r
explain r
history r
retry r --step never
check s.lua
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "staged", state = { n = 0 }, limits = { max_errors = 2, max_retries = 0 }, records = "en",
  invariants = { "n < 9" }, actions = {
  { id = "title", priority = 4, max_runs = 1, prepare = function(_, ctx) ctx.log "prepared" end,
    run = function(_, ctx) return { title = ctx.repair and "Short" or "far too long" } end,
    validate = function(result) return #result.title < 9, "12 letters, 8 at most" end,
    cleanup = function(_, ctx, ended) ctx.log("cleaned up, " .. ended.status) end },
  { id = "other", priority = 3, max_runs = 1, alternative = "instead", run = function() return nil, "odd", "execution" end },
  { id = "instead", when = "never", run = function() return { instead = true } end },
  { id = "unready", priority = 2, max_runs = 1, prepare = function() return false end, on_error = "skip",
    run = function() end },
  { id = "never", priority = 1, max_runs = 1, repair = 1, run = function() return { m = 1 } end,
    validate = { effects = true, schema = { type = "object", required = { "k" } } }, effects = { "m=2" } } } }
]] },
  { "rounds of phases", [[
run s.lua --work-dir r
status r
explain r
history r
state r
check s.lua
graph s.lua --format text
simulate s.lua
rollback r --to 1
resume r --quiet
]], [[
local skillrt = require "skillrt"
local function adds(key) return function(state) return nil, { [key] = (state[key] or 0) + 1 } end end
return skillrt.skill { name = "rounds", state = { a = 0, b = 0 },
  rounds = { { first = "a", last = "b", over = "b >= 3", max_rounds = 4 } },
  phases = {
    { id = "a", output_free = true, run = adds "a" },
    { id = "b", output_free = true, when = "a > 1", run = adds "b" },
    { id = "end", output = "end.json", run = function(state) return { sum = state.a + state.b } end },
  } }
]] },
  { "many calls of a step", [[
run s.lua --work-dir r
status r
log r
explain r
graph r --format text
replay r
]], [[
local skillrt = require "skillrt"
local function echo(word) return { kind = "command", argv = { "echo", word }, idempotent = true } end
return skillrt.skill { name = "many", state = {}, actions = { { id = "work", max_runs = 1, run = function(_, ctx)
  local function say(word) return function() return ctx.await(echo(word)).stdout end end
  local out = {}
  local all, why = ctx.all { say "one", function() return nil, "two is missing", "permanent" end }
  out.all, out.why = all, why
  local lines = ctx.pipeline({ "x", "y" }, function(word) return word .. "!" end,
    function(word) if word == "y!" then return nil, "not y", "permanent" end return word .. word end)
  out.lines = lines
  out.late = select(3, ctx.within(0.05, function() return ctx.sleep(60) end))
  out.spawned = ctx.spawn(say "later"):await()
  out.first = ctx.first { function() return ctx.sleep(60) end, say "soon" }
  return { out = out }
end } } }
]] },
  { "a result that cannot be recorded", [[
run s.lua --work-dir r
status r
replay r
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "holes", limits = { max_errors = 1, max_retries = 0 },
  actions = { { id = "work", run = function() return { list = { 1, nil, 3 } } end } } }
]] },
  { "submitted runs", [[
submit q hello.lua --key one
submit q hello.lua --key one
submit q s.lua --key two --prio 3 --set n:=4
submit q s.lua --each lines.json --key many
submit q hello.lua --cron @daily --at 2031-01-01T00:00Z --key nightly
schedule list q
schedule pause q/nightly
schedule list q
schedule resume q/nightly
worker q --once --concurrency 1
list q
status q/two
status q/many-2
schedule now q/gone
worker q --once
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "adds", inputs = { n = { type = "number", required = true } }, actions = {
  { id = "add", run = function(_, ctx)
      if ctx.input.n > 5 then return nil, "too many", "fatal" end
      return { n = ctx.input.n + 1 }
    end } } }
]], { ["lines.json"] = '{"n":1}\n{"n":9}\n' } },
  { "tests of a skill", [[
test s.lua
test s.lua --filter right
test s.lua --output junit
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "post", state = { to = "Ada" },
  agents = { writer = skillrt.agent.claude {}, server = skillrt.agent.http { url = "https://x.example/", idempotent = false } },
  actions = {
    { id = "write", priority = 2, agent = "writer", prompt = "Write a letter to whom `to` names." },
    { id = "send", agent = "server", prompt = "Send this.", when = "letter", effects = { "sent" } } } }
]], { ["s_spec.lua"] = [[
local test = require "skillrt.test"
local LETTER, SENT = { stateUpdates = { letter = "Dear" } }, { stateUpdates = { sent = true } }
describe("post", function()
  it("is right", function()
    local run = test.run { agents = { writer = { test.status(429, { retry_after = 5 }), test.garbage(), LETTER }, server = SENT } }
    assert.same({ "write", "send" }, run.steps)
    assert.equal(3, run:asked "writer")
    assert.near(5, run.elapsed, 1)
    assert.matches("whom `to` names", run.calls[1].prompt)
    assert.no.matches("Bob", run.calls[1].prompt)
    assert.error_matches(function() error "a fault" end, "fault")
  end)
  it("is right by its URL", function()
    local run = test.run { agents = { writer = LETTER }, urls = { ["https://x."] = test.refused(), ["https://x.example/"] = SENT } }
    assert.equal("completed", run.status)
  end)
  it("is wrong in its steps", function()
    local run = test.run { agents = { writer = LETTER, server = test.timeout() } }
    assert.same({ "write", "sent", { 1, two = "x" } }, run.steps)
  end)
  it("is wrong in its number", function() assert.equal(4, 2 + 1, "the sum") end)
  it("is not so", function() assert.is_not_nil(nil) end)
  it("is near", function() assert.near(1, 2, 0.5) end)
  it("has no such text", function() assert.matches("^x", "yx") end)
  it("has an error of another kind", function() assert.error_matches(function() error "a fault" end, "mistake") end)
  it("has no error", function() assert.has_error(function() end) end)
  it("asks nobody it knows", function() test.run { agents = { writer = LETTER } } end)
  it("raises", function() local none; return none.field end)
  pending "comes later"
end)
]] } },
  { "a generated folder", [[
new demo --mode hybrid --phases plan,build --actions look,mend --description Builds. --yes
check demo
! echo '# Rules' >demo/rules.md; sed -i 's/"specs": \[\]/"specs": ["rules.md"]/' demo/skill-config.json
check demo --report
generate demo --out demo
generate demo/skill-config.json --out other --lang zh
generate demo --out other
generate demo --out demo --dry-run
graph demo --format text
simulate demo
plan demo
run demo --agent ./stand_in.sh --work-dir r
status r
new demo
new one --page --out page
check page
]] },
  { "MCP for other programs", [[
mcp hello.lua s.lua --runs runs < requests
mcp hello.lua --list
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "asks", description = "Asks a colour.", inputs = { who = { type = "string", default = "you" } },
  actions = { { id = "ask", run = function(_, ctx)
      return { colour = ctx.ask { question = "Which colour, " .. ctx.input.who .. "?", options = { "red", "blue" } } }
    end } } }
]], { requests = [[
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"run","arguments":{"skill":"nothing"}}}
{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"run","arguments":{"skill":"s","limits":{"calls":"x"}}}}
{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"status","arguments":{"run":"../x"}}}
{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nothing","arguments":{}}}
{"jsonrpc":"2.0","id":8,"method":"resources/list"}
{"jsonrpc":"2.0","id":9,"method":"no/such"}
{"jsonrpc":"2.0","id":10}
[]
{"jsonrpc":"2.0","id":13,"method":"initialize","params":{"protocolVersion":7}}
{"jsonrpc":"2.0","id":14,"method":"tools/list","params":{"cursor":"x"}}
{"jsonrpc":"2.0","id":15,"method":"tools/call","params":{"name":"run","arguments":{}}}
{"jsonrpc":"2.0","id":16,"method":"tools/call","params":{"name":7}}
{"jsonrpc":"2.0","id":17,"method":"tools/call"}
{"jsonrpc":"1.0","id":18,"method":"ping"}
{"jsonrpc":"2.0","id":19,"method":7}
{"jsonrpc":"2.0","id":{},"method":"ping"}
{"jsonrpc":"2.0","id":21,"method":"tools/call","params":{"name":"status","arguments":{"run":"gone"}}}
{"jsonrpc":"2.0","id":22,"method":"tools/call","params":{"name":"answer","arguments":{"run":"gone","value":"x"}}}
{"jsonrpc":"2.0","id":23,"method":"tools/call","params":{"name":"resume","arguments":{"run":"gone"}}}
{"jsonrpc":"2.0","id":24,"method":"tools/call","params":{"name":"stop","arguments":{"run":"gone"}}}
{"jsonrpc":"2.0","id":25,"method":"tools/call","params":{"name":"log","arguments":{"run":"gone"}}}
{"jsonrpc":"2.0","id":26,"method":"tools/call","params":{"name":"explain","arguments":{"run":"gone","action":"-x"}}}
{"jsonrpc":"2.0","id":27,"method":"tools/call","params":{"name":"list","arguments":{"status":"nothing"}}}
{"jsonrpc":"2.0","id":28,"method":"tools/call","params":{"name":"list","arguments":{}}}
{"jsonrpc":"2.0","id":29,"method":"resources/read","params":{"uri":"x"}}
{"jsonrpc":"2.0","id":30,"method":"prompts/list"}
{"jsonrpc":"2.0","id":31,"method":"logging/setLevel","params":{"level":"x"}}
{"jsonrpc":"2.0","id":32,"method":"tasks/get","params":{"taskId":"x"}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}
not json
[{"jsonrpc":"2.0","id":40,"method":"ping"},7,{"jsonrpc":"2.0","id":41,"method":"tools/list","params":7}]
]] .. "[" .. ("7,"):rep(100) .. "7]" .. [[

{"jsonrpc":"2.0","id":42,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}
{"jsonrpc":"2.0","id":43,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
{"jsonrpc":"2.0","id":44,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
{"jsonrpc":"2.0","id":45,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}
{"jsonrpc":"2.0","id":46,"method":"tools/call","params":{"name":"resume","arguments":{"run":"gone","add":{"calls":3}}}}
{"jsonrpc":"2.0","id":47,"method":"tools/call","params":{"name":"status","arguments":{"run":"gone","wait":-1}}}
{"jsonrpc":"2.0","id":48,"method":"tools/call","params":{"name":"run","arguments":{"skill":"hello","input":7}}}
{"jsonrpc":"2.0","id":49,"method":"prompts/get","params":{"name":"x"}}
{"jsonrpc":"2.0","id":50,"method":"resources/templates/list"}
{"jsonrpc":"2.0","id":51,"method":"completion/complete","params":{}}
{"jsonrpc":"2.0","id":11,"method":"ping"}
]] } },
  { "MCP before a handshake", "mcp hello.lua --runs runs < requests\n", nil, { requests = [[
{"jsonrpc":"2.0","id":1,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}
{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"status","arguments":{"run":"gone"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
{"jsonrpc":"2.0","id":6,"method":"ping"}
]] } },
  { "prompts to an agent", [[
check plain
prompt plain --set task=x
run plain --agent ./stand_in.sh --work-dir r -- Explain it
status r
explain r
log r
tokens plain
run plain --work-dir r2
run plain --agent nobody -- x
run plain --dry-run --agent ./stand_in.sh --work-dir r3 -- x
]] },
}
