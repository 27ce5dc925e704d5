-- mcp_server_hard_spec.lua: `skillrt mcp` with clients that are cut off, talk in pieces, say too much or share its runs.
local C = require "tests.support.mcp_client"
local K = require "tests.support.cli_kit"
local json = require "skillrt.base.json"

local SLOW <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "slow", inputs = { asks = { type = "boolean", default = false } }, actions = {
  { id = "wait", run = function(_, ctx)
    if ctx.input.asks then return { said = ctx.ask { question = "More?", options = { "yes", "no" } } } end
    for _ = 1, 60 do ctx.await { kind = "command", idempotent = true, argv = { "sleep", "0.2" } } end
    return { said = "slept" }
  end } } }
]]

local folder, clients

local function start(words)
  clients[#clients + 1] = C.start(folder, words or { "--trust", "skills" })
  clients[#clients]:begin()
  return clients[#clients]
end

local function until_it(client, id, status)
  for _ = 1, 400 do
    local told = client:call("status", { run = id })
    if told and told.status == status then return told end
    os.execute "sleep 0.02"
  end
  error("the run never was " .. status)
end

local function request(id, method, params)
  return json.encode { jsonrpc = "2.0", id = id, method = method, params = params }
end

describe("skillrt mcp", function()
  before_each(function()
    folder, clients = K.folder(), {}
    os.execute(("mkdir -p %s/skills/slow"):format(folder.path))
    folder.file("skills/slow/skill.lua", SLOW)
  end)
  after_each(function()
    for i = #clients, 1, -1 do -- the last first: it has the pipes of those before it
      if not clients[i].gone then clients[i]:close() end
    end
    getmetatable(folder).__close()
  end)

  it("takes lines that come in pieces, several at once, and without an end behind the last", function()
    local one = start()
    local text = request(901, "ping") .. "\n" .. request(902, "ping") .. "\r\n" .. request(903, "tools/list")
    for i = 1, #text, 17 do
      one.to:write(text:sub(i, i + 16))
      if i % 5 == 0 then os.execute "sleep 0.01" end
    end
    assert.same({}, one:wait(901).result)
    assert.same({}, one:wait(902).result)
    one.to:close()
    assert.is_true(#one:wait(903).result.tools > 5)
    one.gone = true
  end)

  it("begins nothing by half a line, where its client goes away in its middle", function()
    local one = start()
    one.to:write(request(7, "tools/call", { name = "run", arguments = { skill = "slow", wait = 0 } }):sub(1, -9))
    one.gone = true
    assert.equal(0, (one:close()))
    local list = start():call("status", {})
    assert.same({}, list.runs)
  end)

  it("keeps no more of a line than it may have, and goes on behind it", function()
    local one = start()
    local piece = ("x"):rep(1 << 20)
    for _ = 1, 64 do one.to:write(piece) end
    one.to:write "\n"
    local reply = one:next()
    assert.same({ -32600, json.null }, { reply.error.code, reply.id })
    assert.same({}, one:request("ping").result)
    local peak = (K.read("/proc/" .. K.read(one.name .. ".pid"):match "%d+" .. "/status") or ""):match "VmHWM:%s*(%d+)"
    assert.is_true(tonumber(peak) < 40 << 10, peak .. " kB")
  end)

  it("leaves its runs alone where it is told to end, and so does one whose client went away meanwhile", function()
    local one = start()
    local told = one:call("run", { skill = "slow", wait = 0 })
    one:send("tools/call", { name = "status", arguments = { run = told.run, wait = 60 } })
    os.execute("kill -TERM " .. K.read(one.name .. ".pid"))
    one.gone = true
    assert.equal(143, (one:close()))
    one = start()
    assert.equal("running", until_it(one, told.run, "running").status)
    one.gone = true
    assert.equal(0, (one:close()))
    one = start()
    assert.equal("running", until_it(one, told.run, "running").status)
    assert.equal("paused", one:call("stop", { run = told.run }).status)
  end)

  it("shares a folder of runs with another one: each sees all, and a run goes on once", function()
    local one, two = start(), start()
    local told = one:call("run", { skill = "slow", input = { asks = true }, wait = 20 })
    assert.equal("More?", told.questions[1].question.question)
    local mine = two:call("run", { skill = "slow", wait = 0 })
    assert.equal("running", until_it(one, mine.run, "running").status)
    one:call("stop", { run = mine.run })
    for _ = 1, 5 do -- both at once: one of them goes on with it, the other sees or says so
      one:send("tools/call", { name = "resume", arguments = { run = mine.run, wait = 0.3 } })
      two:send("tools/call", { name = "resume", arguments = { run = mine.run, wait = 0.3 } })
      for _, client in ipairs { one, two } do client:wait(client.last) end
      local status
      for _ = 1, 20 do -- where the other one's came to it a moment later, that goes on with it
        status = (two:call("stop", { run = mine.run }) or two:call("status", { run = mine.run, wait = 2 })).status
        if status ~= "running" then break end
        os.execute "sleep 0.05"
      end
      assert.truthy(status == "paused" or status == "interrupted", status)
    end
    one:send("tools/call", { name = "answer", arguments = { run = told.run, value = "yes", wait = 20 } })
    two:send("tools/call", { name = "answer", arguments = { run = told.run, value = "no", wait = 20 } })
    for _, client in ipairs { one, two } do client:wait(client.last) end
    local ended = until_it(two, told.run, "completed")
    assert.truthy(ended.state.said == "yes" or ended.state.said == "no")
    local starts = 0
    for line in K.run(folder, { "log", "runs/" .. mine.run, "--json" }).out:gmatch "[^\n]+" do
      starts = starts + (line:find('"t":"start"', 1, true) and 1 or 0)
    end
    assert.equal(1, starts)
  end)
end)
