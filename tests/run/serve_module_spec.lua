-- serve_module_spec.lua: skillrt.server by itself, without runs: who reads nothing of a stream is dropped, at a bound.
local K = require "tests.support.cli_kit"
local core = require "skillrt.core"
local http = require "skillrt.server"

local MIB <const> = 1 << 20

-- Waits and turns until `done` gives something, at most 10 s.
local function until_it(server, done)
  local deadline = core.mono_ms() + 10000
  while core.mono_ms() < deadline do
    core.serve.wait(math.min(10, server:patience()), nil, {}, server:fd())
    server:turn()
    local value = done()
    if value then return value end
  end
  error "it did not come"
end

describe("skillrt.server", function()
  local folder, server
  before_each(function()
    folder = K.folder()
    server = assert(http.open { socket = folder.path .. "/s" })
  end)
  after_each(function()
    server:close()
    getmetatable(folder).__close()
  end)

  local function ask(words)
    os.execute(("timeout 20 curl -sS -N --unix-socket %s/s %s >%s/out 2>&1 &"):format(folder.path, words, folder.path))
    return until_it(server, function() return server:take() end)
  end

  it("listens at no path that is too long for a socket", function()
    local longest = folder.path .. "/" .. ("x"):rep(107 - #folder.path - 1)
    assert(http.open { socket = longest }):close()
    local opened, why = http.open { socket = longest .. "x" }
    assert.same({ nil, longest .. "x: the path of a socket has at most 107 bytes" }, { opened, why })
  end)

  it("drops a reader that is more than 1 MiB behind, and says so to who pushes", function()
    local stuck = folder.file("stuck.js", ([[const s = require("net").connect("%s/s");
      s.write("GET /x HTTP/1.1\r\nHost: x\r\n\r\n"); s.pause(); setTimeout(() => process.exit(), 15000);]]):format(folder.path))
    os.execute(("timeout 20 node %s & echo $! >%s/pid"):format(stuck, folder.path))
    local request = until_it(server, function() return server:take() end)
    assert.is_true(server:stream(request.id, {}))
    local text, most, pushed = ("x"):rep(100000), 0, 0
    while server:push(request.id, text) do
      pushed, most = pushed + #text, math.max(most, server:behind(request.id))
      server:turn()
      assert.is_true(pushed < 20 * MIB, "nobody was dropped")
    end
    assert.is_true(most > MIB and most < MIB + 200000, tostring(most))
    until_it(server, function() return not server:push(request.id, "x") end)
    assert.equal(0, server:behind(request.id))
    os.execute(("kill $(cat %s/pid)"):format(folder.path))
  end)

  it("ends a stream when all of it was read, and notices within two seconds that its reader closed", function()
    local request = ask "-m 15 http://x/all"
    assert.is_true(server:stream(request.id, {}))
    assert.is_true(server:push(request.id, ("y"):rep(MIB)))
    server:finish(request.id)
    until_it(server, function() return #(folder.read "out" or "") == MIB end)
    request = ask "-m 0.3 http://x/short"
    assert.is_true(server:stream(request.id, {}))
    local began = core.mono_ns()
    until_it(server, function() return not server:push(request.id, "") end)
    assert.is_true((core.mono_ns() - began) / 1e9 < 3)
  end)

  it("gives a request once, and takes one reply", function()
    local request = ask "-d body 'http://x/a%20b?c=1&d=%26'"
    assert.same({ "POST", "/a b", "body", { c = "1", d = "&" } },
      { request.method, request.path, request.body, request.query })
    assert.is_nil(server:take())
    assert.is_true(server:reply(request.id, 200, { ["X-One"] = "1" }, "one"))
    assert.is_false(server:reply(request.id, 200, {}, "two"))
    assert.is_false(server:push(request.id, "three"))
    until_it(server, function() return folder.read "out" == "one" end)
    assert.is_false(server:reply(request.id + 1, 200, {}, "nobody"))
  end)
end)
