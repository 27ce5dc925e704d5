-- serve_list_spec.lua: the list of `skillrt serve`, and that of `skillrt list`, while runs begin, end, die, go and come
-- from elsewhere: what the server knows follows the folder.
local C = require "tests.support.serve_client"
local K = require "tests.support.cli_kit"

local JOB <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "job", state = {}, limits = { max_retries = 0, max_errors = 1 }, actions = {
  { id = "work", run = function(_, ctx)
    if ctx.input.does == "fail" then return nil, "no", "permanent" end
    if ctx.input.does == "ask" then return { done = ctx.ask { question = "Go?", options = { "yes", "no" } } } end
    if ctx.input.does == "sleep" then ctx.await { kind = "command", argv = { "sleep", "60" } } end
    return { done = true }
  end } } }
]]

local folder, server

local function run(name, does)
  return K.run(folder, { "skill.lua", "--work-dir", "runs/" .. name, "--set", "does=" .. does, "--quiet" })
end

-- The names and states of the list, in its order, once it is as it should be.
local function listed(want)
  local text
  for _ = 1, 400 do
    local _, value = server:ask "/runs"
    local lines = {}
    for i, one in ipairs(value.runs) do lines[i] = one.run .. " " .. (one.status or one.problem) end
    text = table.concat(lines, ", ")
    if text == want then return end
    os.execute "sleep 0.03"
  end
  assert.equal(want, text)
end

describe("a list of runs", function()
  before_each(function()
    folder = K.folder()
    folder.file("skill.lua", JOB)
    os.execute(("mkdir '%s/runs'"):format(folder.path))
  end)
  after_each(function()
    if server then server:close() end
    server = nil
    getmetatable(folder).__close()
  end)

  it("is not said to be empty where the folder cannot be read, and is read again", function()
    run("a", "work")
    server = C.start(folder, { "--socket", folder.path .. "/s" })
    assert(os.rename(folder.path .. "/runs", folder.path .. "/away"))
    folder.file("runs", "")
    local status, value = server:ask "/runs"
    assert.equal(500, status)
    assert.matches("runs: Not a directory", value.error.message, 1, true)
    local asked = [[
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":{}}}
{"jsonrpc":"2.0","id":2,"method":"tasks/list","params":{}}
]]
    assert.matches('"tasks":[]', K.run(folder, { "mcp", "skill.lua", "--runs", "none", input = asked }).out, 1, true)
    local told = K.run(folder, { "mcp", "skill.lua", "--runs", "runs", input = asked }).out
    assert.matches('runs: Not a directory"[^\n]*"isError":true', told)
    assert.matches('"error":{"code":%-32603,"message":"[^\n"]*runs: Not a directory"}', told)
    os.remove(folder.path .. "/runs")
    assert(os.rename(folder.path .. "/away", folder.path .. "/runs"))
    listed "a completed"
  end)

  it("follows what other processes do: runs begin, end, are resumed, killed, moved and removed", function()
    server = C.start(folder, {})
    listed ""
    run("a", "work")
    listed "a completed"
    run("b", "ask")
    listed "b paused, a completed"
    local sleeper = K.start(folder, { "skill.lua", "--work-dir", "runs/c", "--set", "does=sleep", "--quiet" })
    listed "c running, b paused, a completed"
    sleeper.signal "KILL"
    sleeper.wait()
    listed "c interrupted, b paused, a completed"
    K.run(folder, { "answer", "runs/b", "yes", "--quiet" })
    listed "b completed, c interrupted, a completed"
    os.rename(folder.path .. "/runs/a", folder.path .. "/a")
    listed "b completed, c interrupted"
    os.rename(folder.path .. "/a", folder.path .. "/runs/d")
    listed "b completed, c interrupted, d completed"
    os.execute(("rm -r '%s/runs/c'"):format(folder.path))
    listed "b completed, d completed"
  end)

  it("of 10,000 runs is the same with and without the index, and has what changed since", function()
    run("good", "work")
    run("bad", "fail")
    os.execute(("cd '%s' && seq -f 'many/r%%g/journal' 10000 19999 | xargs mkdir -p"):format(folder.path))
    local journals = { [0] = folder.read "runs/bad/journal/00000001.sj" }
    journals[1] = folder.read "runs/good/journal/00000001.sj"
    for i = 10000, 19999 do
      folder.file(("many/r%d/journal/00000001.sj"):format(i), journals[math.min(i % 10, 1)])
    end
    local function list(...)
      local out = K.run(folder, { "list", "many", ... }).out
      return select(2, out:gsub("\n", "")), (out:gsub("%), [^\n]*", ")"))
    end
    local count, first = list()
    local index = folder.read "many/.run-index"
    assert.same({ 10000, true }, { count, #index > 500000 and #index < 2000000 })
    assert.same({ count, first }, { list() })
    assert.same(1000, (list "--failed"))
    folder.file("many/.run-index", index:sub(1, 5000) .. "x" .. index:sub(5002))
    assert.same({ count, first }, { list() })
    os.execute(("cd '%s' && rm -r many/r10000 && cp -r runs/bad many/new"):format(folder.path))
    assert.same({ 1000, 10000 }, { (list "--failed"), (list()) })
    server = C.start(folder, { runs = "many" })
    local _, value = server:ask "/runs?status=failed&limit=2"
    assert.same({ 2, 998, "failed" }, { #value.runs, value.more, value.runs[1].status })
    K.run(folder, { "retry", "many/new", "--quiet" })
    for _ = 1, 400 do
      _, value = server:ask "/runs?limit=1"
      if value.runs[1].run == "new" then break end
      os.execute "sleep 0.03"
    end
    assert.equal("new", value.runs[1].run)
  end)
end)
