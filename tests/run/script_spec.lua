-- script_spec.lua: a script that the program runs: what it finds around it, what of that is recorded, and what
-- a resume says when it has changed.
local kit = require "tests.support.cli_kit"

local function run_ok(folder, words)
  local run = kit.run(folder, words)
  assert.equal(0, run.code, run.err .. run.out)
  return run
end

describe("the folder that a script names by dir", function()
  it("is looked for beside the script, wherever that lies", function()
    local folder <close> = kit.folder()
    assert(os.execute(("mkdir -p %s/sub/papers"):format(folder.path)))
    folder.file("sub/papers/ask.md", "The words.")
    folder.file("sub/s.lua", [[
      local skillrt = require "skillrt"
      return skillrt.skill { name = "s", dir = "papers", actions = { { id = "a", prompt = "ask.md",
        agent = skillrt.agent.command { "cat", stdin = "{prompt}",
          parse = function(text) return { said = text:find "The words%." and "it" or "no" } end } } } }]])
    for _, from in ipairs { "sub/s.lua", folder.path .. "/sub/s.lua" } do
      run_ok(folder, { from, "--work-dir", "w" })
      assert.truthy(folder.read("w/state.json"):find('"said": "it"', 1, true))
      assert(os.execute(("rm -r %s/w"):format(folder.path)))
    end
  end)
end)

-- A script whose one step draws `what`, has a command remember it, and is killed by the next command the first
-- time: a resume that is given something else has diverged.
local function killed_once(what, more)
  return ([[
    local skillrt = require "skillrt"
    %s
    return skillrt.skill { name = "killed", durability = "process", actions = { { id = "a", run = function(_, ctx)
      local function say(text)
        return assert(ctx.await { kind = "command", argv = { "printf", "%%s", text } }).stdout
      end
      local drawn = %s
      say(drawn)
      assert(ctx.await { kind = "command", idempotent = true,
        argv = { "sh", "-c", "test -e killed || { touch killed; kill -9 $PPID; sleep 5; }" } })
      say(drawn)
      return { drawn = drawn }
    end } } }]]):format(more or "", what)
end

-- Runs it until it is killed, changes the world by `meanwhile`, and goes on; the state then.
local function survives(folder, script, meanwhile)
  folder.file("s.lua", script)
  assert.equal(137, kit.run(folder, { "s.lua", "--work-dir", "w" }).code)
  if meanwhile then meanwhile() end
  run_ok(folder, { "resume", "w" })
  return folder.read "w/state.json"
end

describe("a script", function()
  it("has globals of its own: what it calls them is no business of the runtime's", function()
    local folder <close> = kit.folder()
    folder.file("helper.lua", "shared = (shared or 0) + 1; ipairs = ipairs; return shared")
    folder.file("s.lua", [[
      type, error, pairs_was, state = "report", "no", pairs, "mine"
      table.concat, string.format, math.floor, os.time, json = nil, 1, 2, 3, 4
      function string.shout(text) return text:upper() .. "!" end
      shared = 1
      local one, two = dofile "helper.lua", require "helper"
      assert(one == 2 and two == 3 and shared == 3 and require "helper" == 3 and _G.shared == 3)
      assert(load "return shared"() == 3 and getmetatable(_G) == nil)
      local skillrt = require "skillrt"
      return skillrt.skill { name = "own", state = { list = { 1, 2 } }, actions = { { id = "a", run = function(given)
        pairs = nil
        return { said = ("hey"):shout(), n = #given.list, kind = type }
      end } } }]])
    run_ok(folder, { "s.lua", "--work-dir", "w" })
    local state = folder.read "w/state.json"
    assert.truthy(state:find('"said": "HEY!"', 1, true) and state:find('"kind": "report"', 1, true), state)
  end)

  it("leaves a host's globals alone, and a host's are not its own", function()
    local folder <close> = kit.folder()
    _G.of_the_host = 1
    local skill = assert(require "skillrt".load(folder.file("s.lua", [[
      assert(of_the_host == nil)
      of_the_script, print = 1, nil
      return require "skillrt".skill { name = "s", actions = { { id = "a", run = function() return {} end } } }]])))
    assert.equal("s", skill.name)
    assert.is_nil(rawget(_G, "of_the_script"))
    assert.is_function(print)
    _G.of_the_host = nil
  end)

  it("meets the keys of a table in the same order in every process", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
      local list = { "x", "y", [0] = 1, [1.5] = 1, [-3] = 1, [true] = 1, [false] = 1 }
      for i = 1, 40 do list["k" .. i * 7919 % 41] = i end
      local by_pairs, by_next, views = {}, {}, {}
      for key in pairs(list) do by_pairs[#by_pairs + 1] = tostring(key) end
      for key in next, list do by_next[#by_next + 1] = tostring(key) end
      for key in pairs(setmetatable({}, { __pairs = function() return next, { mine = 1 } end })) do views[1] = key end
      assert(table.concat(by_pairs, " ") == table.concat(by_next, " ") and views[1] == "mine" and next({}) == nil)
      for key in pairs(list) do list[key] = nil end
      assert(next(list) == nil)
      assert(not pcall(pairs) and not pcall(next, {}, "none") and not pcall(next, 1))
      return require "skillrt".skill { name = "s", actions = { { id = "a", run = function()
        return { order = table.concat(by_pairs, " ") } end } } }]])
    run_ok(folder, { "s.lua", "--work-dir", "w" })
    local order = folder.read "w/state.json":match '"order": "([^"]*)"'
    assert.matches("^1 2 %-3 0 1%.5 k1 k10 k11 k12 .* k8 k9 false true$", order)
  end)

  for name, what in pairs {
    ["os.time"] = "tostring(os.time())",
    ["os.clock"] = "tostring(os.clock())",
    ["os.date"] = "os.date('%H:%M:%S') .. os.date('!%c', 0)",
    ["math.random"] = "table.concat({ math.random(), math.random(10 ^ 6 // 1), math.random(-5, 2 ^ 40 // 1), math.random(0) }, ' ')",
    ["math.randomseed"] = "(function() math.randomseed(7) return math.random(10 ^ 9 // 1) .. '' end)()",
  } do
    it("is given the same by " .. name .. " when its step runs again", function()
      local folder <close> = kit.folder()
      survives(folder, killed_once(what), function()
        if name:find "^os" then os.execute "sleep 1.1" end -- else the second has not passed
      end)
    end)
  end

  it("draws in each branch by itself, whatever order the branches go on in", function()
    local folder <close> = kit.folder()
    local state = survives(folder, killed_once [[table.concat(assert(ctx.map({ 1, 2, 3 }, function(i)
      local first = math.random(2 ^ 50 // 1)
      ctx.sleep((4 - i) / 100)
      return first .. "-" .. math.random(2 ^ 50 // 1)
    end)), " ")]])
    local seen = {}
    for number in state:match '"drawn": "([^"]*)"':gmatch "%d+" do
      assert.is_nil(seen[number])
      seen[number] = true
    end
  end)

  it("that seeds its random numbers when it is loaded gets the same in every run", function()
    local folder <close> = kit.folder()
    folder.file("s.lua", [[
      math.randomseed(42)
      local first = math.random(1000000)
      return require "skillrt".skill { name = "s", actions = { { id = "a", run = function()
        return { drawn = first .. " " .. math.random(1000000) } end } } }]])
    local seen = {}
    for i = 1, 2 do
      run_ok(folder, { "s.lua", "--work-dir", "w" .. i })
      seen[i] = folder.read("w" .. i .. "/state.json"):match '"drawn": "([^"]*)"'
    end
    assert.equal(seen[1], seen[2])
  end)

  it("is given what it drew while it was loaded when the run goes on", function()
    local folder <close> = kit.folder()
    local more = "local loaded = os.time() .. ' ' .. os.clock() .. ' ' .. math.random(10 ^ 9 // 1)"
    survives(folder, killed_once("loaded", more), function() os.execute "sleep 1.1" end)
  end)

  it("is given what ctx.read and ctx.glob gave, also bytes, much, and what was not there", function()
    local folder <close> = kit.folder()
    local bytes = ("\0\255\n"):rep(40000)
    folder.file("bytes", bytes)
    folder.file("small.txt", "before")
    local script = killed_once [[ctx.read "small.txt" .. #ctx.read "bytes" .. tostring(ctx.read "later.txt")
        .. table.concat(ctx.glob "*.txt", ",") .. #ctx.glob "*.none"]]
    local state = survives(folder, script, function()
      folder.file("small.txt", "after")
      folder.file("later.txt", "there now")
      os.remove(folder.path .. "/bytes")
    end)
    assert.truthy(state:find('"before120000nilsmall.txt0"', 1, true), state)
  end)

  it("does not count what ctx.once drew, which does not run again", function()
    local folder <close> = kit.folder()
    local once = "ctx.once('x', function() ctx.now() math.random() return ctx.read 's.lua' and os.time() end)"
    survives(folder, killed_once(once .. " .. ' ' .. ctx.now() .. ' ' .. os.time() .. ' ' .. math.random()"))
  end)
end)

describe("a helper that a script loads", function()
  local MAIN = [[
    local skillrt = require "skillrt"
    %s
    return skillrt.skill { name = "helped", durability = "process",
      terminate = { { when = "n === 1 && !more", status = "paused", reason = "tea" } },
      actions = {
        { id = "a", priority = 2, run = function() return { n = (function() %s end)() } end },
        { id = "b", max_runs = 1, run = function() return { more = true } end } } }]]

  for name, case in pairs {
    ["dofile"] = { "local one = dofile 'lib/one.lua'", "return one" },
    ["require"] = { "local one = require 'lib.one'", "return one" },
    ["require in a step"] = { "", "return require 'lib.one'" },
    ["loadfile by a helper"] = { "local one = dofile 'lib/two.lua'", "return one" },
  } do
    it("by " .. name .. " is pinned: the run does not go on with another one, but by --accept-changes", function()
      local folder <close> = kit.folder()
      assert(os.execute(("mkdir %s/lib"):format(folder.path)))
      folder.file("lib/one.lua", "return 1")
      folder.file("lib/two.lua", "return loadfile('lib/one.lua')()")
      folder.file("s.lua", MAIN:format(case[1], case[2]))
      assert.equal(5, kit.run(folder, { "s.lua", "--work-dir", "w" }).code)
      folder.file("lib/one.lua", "return 1 -- changed")
      local run = kit.run(folder, { "resume", "w" })
      assert.equal(8, run.code, run.err)
      assert.truthy(run.err:find("changed since the run began: helper lib/one.lua", 1, true), run.err)
      assert.equal(5, kit.run(folder, { "resume", "w", "--accept-changes" }).code)
      assert.equal(5, kit.run(folder, { "resume", "w" }).code)
    end)
  end
end)
