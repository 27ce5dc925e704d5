-- cli_input_spec.lua: `--input FILE` and `--at-most LIMIT=NUMBER` of skillrt run, and core.serve, by which skillrt mcp
-- starts programs and hears of their end.
local K = require "tests.support.cli_kit"
local core = require "skillrt.core"
local json = require "skillrt.base.json"

local SCRIPT <const> = [[
local skillrt = require "skillrt"
return skillrt.skill { name = "given", limits = { calls = 7 }, actions = { { id = "show", run = function(_, ctx)
  return { got = ctx.input }
end } } }
]]

local folder

local function run(words, input)
  table.insert(words, 1, "given.lua")
  words.input = input
  os.execute("rm -rf " .. folder.path .. "/run")
  local done = K.run(folder, table.move({ "--work-dir", "run", "--quiet" }, 1, 3, #words + 1, words))
  return done, json.decode(folder.read "run/state.json" or "null")
end

describe("skillrt run", function()
  before_each(function()
    folder = K.folder()
    folder.file("given.lua", SCRIPT)
  end)
  after_each(function() getmetatable(folder).__close() end)

  it("and a script may be named as pipes, whose writers come in their own time", function()
    assert(os.execute(("mkfifo '%s/in'"):format(folder.path)))
    local line = "cd '%s' && { (sleep 0.2; echo '{\"a\":1}') >in & (sleep 0.1; cat given.lua) | '%s' run /dev/stdin --input /dev/fd/3 "
      .. "--work-dir run --quiet 3<in; } >/dev/null"
    assert(os.execute(line:format(folder.path, K.program)))
    assert.same({ a = 1 }, json.decode(folder.read "run/state.json").got)
  end)

  it("takes its input from a file or standard input, and adds to it what is set", function()
    folder.file("in.json", '{"a":{"b":[1,2]},"c.d":"x"}')
    local _, state = run { "--input", "in.json", "--set", "e=5" }
    assert.same({ a = { b = { 1, 2 } }, ["c.d"] = "x", e = "5" }, state.got)
    _, state = run({ "--input", "-" }, '{"task":"it"}')
    assert.same({ task = "it" }, state.got)
    for _, text in ipairs { "[1]", "{", "" } do
      local done = run({ "--input", "-" }, text)
      assert.equal(2, done.code)
      assert.matches("%-%-input %-: must be a JSON object", done.err)
    end
    assert.matches("no%-such", run({ "--input", "no-such" }).err)
  end)

  it("lowers a limit by --at-most, and never raises one", function()
    for _, case in ipairs { { 3, "calls=3" }, { 7, "calls=9" }, { 2, "calls=5", "calls=2" } } do
      local words = {}
      for i = 2, #case do
        words[#words + 1], words[#words + 2] = "--at-most", case[i]
      end
      assert.equal(0, run(words).code)
      local first = json.decode(K.run(folder, { "log", "run", "--json" }).out:match "[^\n]+")
      assert.equal(case[1], first.limits.calls, case[2])
    end
    assert.matches("there is no limit", run({ "--at-most", "cals=3" }).err)
  end)
end)

describe("core.serve", function()
  local function over(program)
    local lines = core.serve.lines(100)
    for _ = 1, 200 do
      if program:code() then return program:code() end
      lines:next() -- what lies on standard input wakes, too
      core.serve.wait(50, lines, { program })
    end
  end

  it("starts programs, gives them their input, and hears what they said and how they ended", function()
    local program = assert(core.serve.start({ "sh", "-c", "cat; echo more >&2; exit 3" }, "given, "))
    assert.equal(3, over(program))
    assert.equal("given, more\n", program:output(100))
    assert.equal("ore\n", program:output(4))
    local none, message, code = core.serve.start({ "no-such-program-anywhere" }, "")
    assert.is_nil(none)
    assert.matches("no%-such%-program%-anywhere: cannot be started: No such file", message)
    assert.equal("string", type(code))
  end)

  it("hears one guest after the other at a port, also after one whose request it does not read", function()
    local listener, port = core.serve.listen(0)
    local function take(words)
      local guest = ([[exec 3<>/dev/tcp/127.0.0.1/%d; printf '%s HTTP/1.1\r\n\r\n' >&3; cat <&3]]):format(port, words)
      local program, path = assert(core.serve.start({ "bash", "-c", guest }, "")), nil
      for _ = 1, 200 do
        path = listener:take()
        if path or program:code() then break end
        core.serve.wait(20, nil, { program }, listener)
      end
      program:stop(true)
      return path
    end
    assert.equal("/a?b=1", take "GET /a?b=1")
    assert.is_nil(take "POST /b")
    assert.equal("/c", take "GET /c")
  end)

  it("waits for a list of programs, and for nothing else", function()
    assert.has_error(function() core.serve.wait(0, nil, "sh") end, "bad argument #3 to 'wait' (table expected, got string)")
  end)

  it("ends them, told or at once", function()
    for now, code in pairs { [false] = 143, [true] = 137 } do
      local program = assert(core.serve.start({ "sleep", "30" }, ""))
      assert.is_nil(program:code())
      program:stop(now)
      assert.equal(code, over(program))
      program:stop(true) -- nobody any more
    end
  end)

  it("lets those leave that are to outlive it: they have a session of their own", function()
    for leaves, same in pairs { [false] = false, [true] = true } do
      local program = assert(core.serve.start({ "sh", "-c", "echo $$; cut -d' ' -f6 /proc/$$/stat" }, "", leaves))
      assert.equal(0, over(program))
      local pid, session = program:output(100):match "^(%d+)\n(%d+)\n$"
      assert.equal(same, pid == session)
    end
  end)
end)
