-- environment_spec.lua: what a script finds around it while it is loaded: the random numbers, the clock, require, dofile
-- and loadfile, each as in Lua, with Lua's messages.
local environment = require "skillrt.base.environment"
local runs = require "tests.support.runs"

local function raised(fn, ...)
  local ok, message = pcall(fn, ...)
  assert.is_false(ok)
  return (tostring(message):gsub("^[^ ]*:%d+: ", ""))
end

describe("the world of a script", function()
  local dir, world, env
  before_each(function()
    dir = runs.folder()
    world = environment.new(dir .. "/main.lua")
    env = world.env
  end)
  after_each(runs.clean)

  local function file(name, text)
    local out <close> = assert(io.open(dir .. "/" .. name, "w"))
    out:write(text)
    return dir .. "/" .. name
  end
  local function during(fn, ...)
    return environment.during(world, fn, ...)
  end

  it("draws as math.random does, from the seed that is set", function()
    during(function()
      local random = env.math.random
      env.math.randomseed(42)
      local first = { random(), random(10), random(3, 4), random(0) }
      env.math.randomseed(42)
      assert.same(first, { random(), random(10), random(3, 4), random(0) })
      assert.is_true(first[1] >= 0 and first[1] < 1 and math.type(first[1]) == "float")
      local seen = {}
      for _ = 1, 200 do
        seen[random(3)] = true
        local small = random(-1, 1)
        assert.is_true(math.type(small) == "integer" and small >= -1 and small <= 1)
      end
      assert.same({ true, true, true }, seen)
      assert.equal(7, random(7, 7))
      assert.equal("integer", math.type(random(math.mininteger, math.maxinteger)))
      assert.equal("bad argument #1 to 'random' (number has no integer representation)", raised(random, 1.5))
      assert.equal("bad argument #2 to 'random' (number has no integer representation)", raised(random, 1, 1.5))
      assert.equal("bad argument to 'random' (interval is empty)", raised(random, 2, 1))
      assert.equal("bad argument to 'random' (interval is empty)", raised(random, -1))
    end)
  end)

  it("tells the time of a date that is given, and of now", function()
    during(function()
      assert.equal(os.time { year = 2026, month = 3, day = 1 }, env.os.time { year = 2026, month = 3, day = 1 })
      assert.is_true(math.abs(os.time() - env.os.time()) <= 2)
      assert.equal(os.date("!%Y", 0), env.os.date("!%Y", 0))
      assert.equal(os.date "%Y-%m", env.os.date "%Y-%m")
    end)
  end)

  it("finds modules beside the script, once each, and says why it cannot", function()
    file("one.lua", "count = (count or 0) + 1; return { name = ... }")
    file("none.lua", "local x = 1")
    file("broken.lua", "return =")
    assert(os.execute(("mkdir -p %s/sub"):format(dir)))
    file("sub/init.lua", "return 'sub'")
    during(function()
      local one, where = env.require "one"
      assert.equal("one", one.name)
      assert.equal(dir .. "/one.lua", where)
      assert.equal(one, env.require "one")
      assert.equal(1, env.count)
      assert.is_true(env.require "none")
      assert.equal("sub", env.require "sub")
      env.package.preload.made = function(name, from) return name .. from end
      assert.equal("made:preload:", env.require "made")
      assert.equal(require "skillrt", env.require "skillrt")
      assert.matches("module 'nowhere' not found", raised(env.require, "nowhere"), 1, true)
      assert.matches("error loading module 'broken' from file '" .. dir .. "/broken.lua':", raised(env.require, "broken"),
        1, true)
      assert.equal("bad argument #1 to 'require' (string expected, got nil)", raised(env.require))
    end)
  end)

  it("runs and loads files, also by their path from the script, and says which cannot be read", function()
    file("value.lua", "#!/usr/bin/lua\nreturn 7, ...")
    during(function()
      assert.equal(7, env.dofile(dir .. "/value.lua"))
      assert.equal(7, env.dofile "value.lua")
      assert.same({ 7, 8 }, { env.loadfile "value.lua" (8) })
      assert.matches("absent.lua: No such file or directory", raised(env.dofile, "absent.lua"), 1, true)
      local chunk, message = env.loadfile "absent.lua"
      assert.is_nil(chunk)
      assert.matches("No such file or directory", message, 1, true)
      local own = { print = print }
      assert(env.loadfile(file("sets.lua", "x = 5"), "t", own))()
      assert.equal(5, own.x)
      assert.is_nil(env.x)
    end)
  end)

  it("gives the helper of an untrusted script its name from below its folder, and nothing above it", function()
    file("helper.lua", "return 1")
    assert(os.execute(("mkdir -p %s/lib"):format(dir)))
    file("lib/init.lua", "return 2")
    assert.same({ "return 1", "@" .. dir .. "/helper.lua" }, { environment.helper(world, "helper", true) })
    assert.same({ "return 2", "@" .. dir .. "/lib/init.lua" }, { environment.helper(world, "lib", true) })
    assert.same({ "return 1", "@" .. dir .. "/helper.lua" }, { environment.helper(world, dir .. "/helper.lua") })
    local text, message = environment.helper(world, "nowhere.at.all", true)
    assert.is_nil(text)
    assert.matches("module 'nowhere.at.all' not found below " .. dir .. ":", message, 1, true)
    assert.is_nil((environment.helper(world, "../helper.lua")))
  end)
end)
