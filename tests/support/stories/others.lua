-- others.lua: stories of runs that talk with others: models, servers, other runs, editors; see transcripts.lua.
-- luacheck: no max line length
local C = require "tests.support.claude_runs"
local P = require "tests.support.providers"
local R = require "tests.support.runs"
local wires = require "tests.support.wires"

-- Begins a server that replies so to one request after the other; the script finds its address in the file url.
local function replies(folder, list)
  local plan = {}
  for i, one in ipairs(list) do
    plan[i] = type(one) == "table" and R.raw(P.bytes(one)) or one
  end
  local server = R.server(table.concat(plan, "\n") .. "\n")
  folder.file("url", server.url)
  return server
end

local MODEL <const> = [[
local skillrt = require "skillrt"
local url = io.open("url"):read "a"
local function step(id, more)
  local one = { id = id, agent = "model", prompt = id .. " it now", max_runs = 1, max_retries = 1, on_error = "skip" }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end
]]
local wire = wires.of.anthropic
local function asks(name, input) return wire.asks { { id = "c1", name = name, input = input } } end
local DONE <const> = wire.says '{"status":"completed","stateUpdates":{"made":1},"summary":"it is made"}'

return {
  { "a model", [[
run s.lua --work-dir r
status r
log r
explain r
replay r
]], MODEL .. [[
return skillrt.skill { name = "models", strategy = "sequential", retry = { base = 0.001 }, state = { made = 0 },
  limits = { usage = { tokens = 100000 } },
  agents = { model = skillrt.agent.anthropic { url = url .. "/plan", model = "claude-sonnet-4-5" } },
  actions = { step "make", step "rubbish", step "cut", step "busy", step "refused", step "denied", step("write", { output = "note.md" }) } }
]], nil, function(folder)
    return replies(folder, { DONE, wire.says "I have done it all.", wire.says "Yes, all of it.", wire.says "As I said.",
      P.anthropic({ { type = "text", text = '{"status":"comp' } }, { stop_reason = "max_tokens" }), DONE,
      "/status/529", DONE, P.anthropic({ { type = "text", text = "I cannot." } }, { stop_reason = "refusal" }),
      "/status/401", wire.says "# A note\n" })
  end },
  { "a model with tools", [[
! mkdir texts; echo 'An apple.' >texts/a.md; echo 'A pear.' >texts/b.md
run s.lua --work-dir r
status r
answer r approve
answer r approve
status r
log r
explain r
! cat texts/a.md texts/c.md
diff r@1 r
check s.lua
tokens s.lua
]], MODEL .. [[
return skillrt.skill { name = "tools", strategy = "sequential", roots = { read = { "texts" }, write = { "texts" } }, state = { made = 0 }, limits = { max_retries = 0 },
  agents = { model = skillrt.agent.anthropic { url = url .. "/plan", model = "claude-sonnet-4-5",
    tools = { "read_file", "list_dir", "grep", "glob", "write_file", "edit", "run", "git_diff", "http_get", "add", "pay" } } },
  tools = { read_file = true, list_dir = true, grep = true, glob = true, write_file = true, edit = true, git_diff = true, http_get = { hosts = { "127.0.0.1" } },
    run = { allow = { { "echo", "*" } } },
    add = { description = "adds", input = { type = "object", properties = { n = { type = "number" } }, required = { "n" } },
      run = function(input) return { n = input.n + 1 } end },
    pay = { description = "pays", approval = "ask", input = { type = "object", properties = { to = { type = "string" } } },
      run = function() return "paid" end } },
  actions = { step "use" } }
]], nil, function(folder)
    return replies(folder, { asks("list_dir", { path = "texts" }), asks("read_file", { path = "texts/a.md" }),
      asks("read_file", { path = "../../etc/passwd" }), asks("read_file", { path = "texts/gone.md" }), asks("read_file", { pfad = "x" }),
      asks("grep", { pattern = "pear", path = "texts" }), asks("grep", { pattern = "(" }), asks("glob", { pattern = "texts/*.md" }),
      asks("edit", { path = "texts/a.md", old = "apple", new = "orange" }), asks("edit", { path = "texts/a.md", old_text = "apple", new_text = "orange" }),
      asks("edit", { path = "texts/a.md", old_text = "plum", new_text = "x" }), asks("write_file", { path = "texts/c.md", content = "New.\n" }),
      asks("write_file", { path = "texts/c.md", text = "New.\n" }), asks("run", { argv = { "echo", "hi" } }), asks("run", { program = "rm", args = { "x" } }),
      asks("add", { n = "x" }), asks("add", { n = 1 }), asks("gone", {}), asks("git_diff", {}), asks("http_get", { url = "http://127.0.0.1:1/" }), asks("edit", { path = "texts/a.md", old = "x", new = "x" }), asks("edit", { path = "texts/a.md", old = "n", new = "x" }), asks("glob", { pattern = "**", path = "texts" }), asks("grep", { pattern = "(", path = "texts" }), asks("write_file", { path = "/etc/x", content = "x" }), asks("ask_user", {}), asks("read", { path = "../x" }), asks("pay", { to = "Ada" }), DONE })
  end },
  { "servers of tools", [[
run s.lua --work-dir r
status r
log r
explain r
check s.lua
tokens s.lua
check m
run m --agent ./agent --work-dir t
run m --agent ./agent --work-dir t --trust
login our m
]], [[
local skillrt = require "skillrt"
local function server(mode) return { command = { "lua5.4", "mcp_server.lua", mode } } end
return skillrt.skill { name = "servers", state = {}, limits = { max_retries = 0 },
  mcp = { our = server "good", double = server "double", refuses = server "refuses", old = server "old",
    gone = { command = { "./gone" } }, web = { url = "http://127.0.0.1:1/mcp" } },
  actions = { { id = "a", run = function(_, ctx)
    local function try(name, arguments, options)
      local text, why, class = ctx.tool(name, arguments, options)
      ctx.log(("%s: %s (%s)"):format(name, text or why, class or "well"))
    end
    try("mcp__our__echo", { text = "hello" })
    try("mcp__our__echo", { txet = "hello" })
    try("mcp__our__odd", { n = 2 })
    try "mcp__our__fail"
    try "mcp__our__error"
    try "mcp__our__slow"
    try "mcp__our__change"
    try("mcp__our__new", {})
    try("mcp__our__wonder", { about = "ping" })
    for _, name in ipairs { "double", "refuses", "old", "gone", "web" } do try(("mcp__%s__echo"):format(name), { text = "x" }, { acts = false }) end
    for _, tool in ipairs(ctx.mcp "our":tools() or {}) do ctx.log(tool.name) end
    try("mcp__our__die", {}, { acts = false })
    return { done = true }
  end } } }
]], { agent = "#!/bin/sh\ncat >/dev/null\necho '{\"status\":\"completed\"}'\n", ["m/SKILL.md"] = "---\nname: m\ndescription: Uses a server. Use it for it.\nallowed-tools: mcp__our__echo, mcp__none__x\n---\n# M\nUse mcp__our__echo.\n",
      ["m/.mcp.json"] = '{"mcpServers":{"our":{"command":"lua5.4","args":["mcp_server.lua"]},"bad":{"comand":"x"},"web":{"type":"http","url":"http://127.0.0.1:1/mcp"}}}' },
    function(folder)
      assert(os.execute(("cp tests/support/mcp_server.lua '%s'; chmod +x '%s/agent'"):format(folder.path, folder.path)))
    end },
  { "requests to a server", [[
run s.lua --work-dir r
log r
explain r
]], [[
local skillrt = require "skillrt"
local url = io.open("url"):read "a"
return skillrt.skill { name = "asks", state = {}, actions = { { id = "a", max_runs = 1, run = function(_, ctx)
  local function try(path, more)
    local request = { kind = "http", url = url .. path, idempotent = true, retry = { max = 0 } }
    for key, value in pairs(more or {}) do request[key] = value end
    local reply, why, class, bad = ctx.await(request)
    ctx.log(("%s: %s (%s, %s)"):format(path, reply and reply.body or why, class or "well", (reply or bad or {}).status))
  end
  try("/say/hello")
  try("/echo", { method = "POST", body = "a body" })
  for _, status in ipairs { 204, 301, 400, 401, 404, 408, 409, 413, 422, 429, 500, 501, 503, 529 } do try("/status/" .. status) end
  try("/say/7", { expect = "json" })
  try("/say/no", { expect = "json" })
  try("/status/429?retry-after=1", { timeout = 2 })
  for _, path in ipairs { "half", "chunked", "cut", "trailer", "interim", "eof", "eof-close", "http10", "fold", "gzip", "garbage", "nothing", "loop" } do try("/" .. path, { max_redirects = 3 }) end
  try("/silence", { timeout = 0.1 })
  try("/stall", { timeout = 0.2 })
  try("/huge?bytes=2000", { max_reply = 1000 })
  try("/redirect?to=/say/there&code=302")
  try("/redirect?to=/say/there&code=302", { max_redirects = 1 })
  return {}
end } } }
]], nil, function(folder) return replies(folder, { "/echo" }) end },
  { "children and events between runs", [[
! mkdir pack q; cp s.lua pack/skill.lua; cp child.lua waits.lua pack
run waits.lua --work-dir q/receiver
submit q pack --trust --key parent
worker q --once
list q
status q/parent
worker q --queue kids --once
worker q --once
list q
status q/parent
log q/parent
explain q/parent
history q/parent
resume q/receiver
state q/receiver
]], [[
local skillrt = require "skillrt"
return skillrt.skill { name = "parent", state = {}, limits = { max_retries = 0 }, actions = { { id = "ask", max_runs = 1, run = function(_, ctx)
  local good = ctx.run("child.lua", { n = 7 }, { queue = "kids" })
  local _, why, class = ctx.run("child.lua", { n = -1 }, { queue = "kids" })
  local sent = ctx.emit("receiver", "built", { n = good.state.n })
  local _, gone = ctx.emit("nobody", "built", 1)
  return { n = good.state.n, why = why, class = class, sent = sent, gone = gone }
end } } }
]], { ["child.lua"] = [[
return require "skillrt".skill { name = "child", limits = { max_errors = 1, max_retries = 0 }, actions = { { id = "square", max_runs = 1, run = function(_, ctx)
  if ctx.input.n < 0 then return nil, "no square", "permanent" end
  return { n = ctx.input.n * ctx.input.n }
end } } }
]], ["waits.lua"] = [[
return require "skillrt".skill { name = "receiver", actions = { { id = "wait", max_runs = 1, run = function(_, ctx) return { got = ctx.wait "built" } end } } }
]] } },
  { "a run of Claude Code that is adopted", [[
! chmod +x agent
adopt ]] .. C.ID .. [[ --dry-run --agent ./agent --trust
adopt ]] .. C.ID .. [[ --agent ./agent --trust --work-dir r
status r
log r
resume r
adopt ]] .. C.ID .. [[ --agent ./agent --trust --work-dir r
adopt gone.json
]], nil, { agent = "#!/bin/sh\ncat >/dev/null\necho 'seen it'\n" }, function(folder)
    local list = { { prompt = "look at a", answer = "seen a", result = "seen a" }, { prompt = "look at c", answer = "c", result = "c" },
      { prompt = "look at b", answer = "half", stop = "tool_use" } }
    C.write(folder.path .. "/.claude", { args = { "a", "b" }, agents = list }, "export const meta = { name: 'tried', description: 'Tries' }\n"
      .. "const out = []\nfor (const one of args) out.push(await agent('look at ' + one))\nreturn out")
  end },
  { "an editor", [[
acp hello.lua < requests
]], nil, { requests = [[
{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}
{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}
{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"x"}}
{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"none","prompt":[{"type":"text","text":"x"}]}}
{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{}}
{"jsonrpc":"2.0","id":6,"method":"session/load","params":{"sessionId":"none","cwd":"/","mcpServers":[]}}
{"jsonrpc":"2.0","id":7,"method":"session/nothing"}
{"jsonrpc":"2.0","id":8,"method":"session/new","params":{"cwd":7}}
{"jsonrpc":"2.0","id":9,"method":"authenticate","params":{"methodId":"x"}}
{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}
{"jsonrpc":"2.0","id":10}
[]
not json
]] } },
  { "webhooks, reports and places", [[
run hello.lua --work-dir r --quiet
! printf 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' >secret; chmod 600 secret; cp secret open; chmod 644 open
notify r --url URL/status/200 --secret-file secret
notify nothing --url URL/status/200 --secret-file secret
notify r --url ftp://there --secret-file secret
notify r --url URL/status/410 --secret-file secret
notify r --url URL/status/500 --secret-file secret
notify r --url URL/say/x --secret-file open
notify r --url URL/say/x --secret-file new
! wc -c <new; stat -c %a new
report r --html page.html
! grep -c '<' page.html
latest .
watch r
move r other
list .
resume other
du .
login URL/status/404
login URL/say/x
logout URL/x
mcp hello.lua --list
]], nil, nil, function(folder) return replies(folder, { "/echo" }) end },
}
